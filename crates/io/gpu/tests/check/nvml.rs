//! NVML as this machine has it: its GPUs, or an error that says what is missing.

use std::time::{Duration, Instant};

#[test]
fn nvml_answers_or_says_why_not() {
    let started = Instant::now();
    match crosstie_gpu::read(Duration::from_secs(8)) {
        Ok(gpus) => assert!(gpus.driver.known().is_some(), "{gpus:?}"),
        Err(error) => assert!(error.to_string().contains("libnvidia-ml.so.1"), "{error}"),
    }
    assert!(started.elapsed() < Duration::from_secs(10));
}
