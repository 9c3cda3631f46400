//! NVML as this machine has it: an inventory, or an error that says what is missing.

use std::time::{Duration, Instant};

#[test]
fn nvml_answers_or_says_why_not() {
    let started = Instant::now();
    match crosstie_gpu::read(Duration::from_secs(8)) {
        Ok(inventory) => {
            assert!(inventory.driver.is_some());
            let read = crosstie_gpu::from_smi(&inventory.to_xml()).unwrap();
            assert_eq!(read, inventory);
        }
        Err(error) => assert!(error.to_string().contains("libnvidia-ml.so.1"), "{error}"),
    }
    assert!(started.elapsed() < Duration::from_secs(10));
}
