//! Values to terminal views and JSON.
