//! Files that are there whole or not at all, as a change calls them.

pub(super) use crosstie_durable::{
    folder_of as folder, make_folder, remove, sync_folder as sync, temporary_name as half_made,
    write, write_as,
};
