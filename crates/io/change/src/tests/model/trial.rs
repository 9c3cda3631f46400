//! What a person's own command does to it.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
};

use super::Model;
use crate::system_access::SystemAccess;

const MORE_THAN_IS_READ: u64 = 17 << 20;

impl Model {
    /// `write PATH TEXT`, `replace PATH TEXT` by a new file, `remove PATH`, `link PATH TARGET` in place of a folder, `move PATH TARGET` with a link in its
    /// place, `many PATH COUNT` in a new one, `grow PATH` beyond what is read, `folder PATH` in place of a file, or
    /// `address INTERFACE ADDRESS`.
    pub(super) fn change_by_hand(&self, command: &[String]) {
        let path = self.path(&command[1]);
        match command[0].as_str() {
            "write" => fs::write(path, &command[2]).unwrap(),
            "replace" => {
                fs::remove_file(&path).unwrap();
                fs::write(path, &command[2]).unwrap();
            }
            "link" => {
                fs::remove_dir_all(&path).unwrap();
                symlink(self.path(&command[2]), path).unwrap();
            }
            "move" => {
                fs::rename(&path, self.path(&command[2])).unwrap();
                symlink(self.path(&command[2]), path).unwrap();
            }
            "grow" => {
                let file = File::options().create(true).append(true).open(path);
                file.unwrap().set_len(MORE_THAN_IS_READ).unwrap();
            }
            "address" => {
                let mut kernel = self.kernel.lock().unwrap();
                let interface = kernel.interfaces.get_mut(&command[1]).unwrap();
                interface.addresses.push(command[2].parse().unwrap());
            }
            "folder" => {
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
                fs::write(path.join("mine"), "mine\n").unwrap();
            }
            "many" => {
                fs::create_dir(&path).unwrap();
                for number in 0..command[2].parse::<u32>().unwrap() {
                    fs::write(path.join(number.to_string()), "").unwrap();
                }
            }
            _ => fs::remove_file(path).unwrap(),
        }
    }
}
