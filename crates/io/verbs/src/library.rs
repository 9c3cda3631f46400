//! libibverbs, found and loaded at run time.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use crosstie_verbs_abi as abi;
use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};

use crate::error::VerbsLibraryError;

/// The name with the ABI's number comes with the library; the bare one only with development packages.
const LIBRARY_NAME: &str = "libibverbs.so.1";

/// libibverbs with its functions looked up. Clones share it; it stays loaded as long as any value made through it lives.
#[derive(Debug, Clone)]
pub struct VerbsLibrary(Arc<Loaded>);

impl VerbsLibrary {
    /// The machine's own, wherever its loader finds it.
    pub fn open() -> Result<Self, VerbsLibraryError> {
        Self::load(OsStr::new(LIBRARY_NAME))
    }

    /// Another, for tests and for libraries outside of the loader's path.
    pub fn open_at(path: &Path) -> Result<Self, VerbsLibraryError> {
        Self::load(path.as_os_str())
    }

    fn load(name: &OsStr) -> Result<Self, VerbsLibraryError> {
        let library = PathBuf::from(name);
        // SAFETY: loading runs the library's initialisers. libibverbs' are those of a system library; whoever gives a
        // path of their own answers for it, as with LD_LIBRARY_PATH.
        let opened = unsafe { Handle::open(Some(name), RTLD_NOW | RTLD_LOCAL) };
        let handle = opened.map_err(|source| VerbsLibraryError::Missing {
            library: library.clone(),
            source,
        })?;
        let functions = Functions::look_up(&handle, &library)?;
        Ok(Self(Arc::new(Loaded {
            functions,
            _handle: handle,
        })))
    }

    pub(crate) fn functions(&self) -> &Functions {
        &self.0.functions
    }
}

#[derive(Debug)]
struct Loaded {
    functions: Functions,
    /// The functions are code of this library.
    _handle: Handle,
}

macro_rules! functions_type {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?, $c_type:literal;)*) => {
        #[derive(Debug)]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            fn look_up(handle: &Handle, library: &Path) -> Result<Self, VerbsLibraryError> {
                Ok(Self {
                    $($name: {
                        // SAFETY: the type is that of the headers, to which a test holds the table.
                        let found = unsafe { handle.get(concat!(stringify!($name), "\0").as_bytes()) };
                        *found.map_err(|source| VerbsLibraryError::Function {
                            library: library.to_owned(),
                            function: stringify!($name),
                            source,
                        })?
                    },)*
                })
            }
        }
    };
}
abi::for_each_function!(functions_type);
