//! NVIDIA's libraries, loaded at run time.
