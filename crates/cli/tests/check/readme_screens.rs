//! What README shows is what the program prints.

use std::fs;

use crate::common::command::{crosstie, fixtures};

#[test]
fn screens_of_the_readme_are_those_that_are_printed() {
    let text = fs::read_to_string(fixtures().join("../README.md")).unwrap();
    let blocks = text.split("```\n").skip(1).step_by(2);
    let screens: Vec<(&str, &str)> = blocks
        .filter_map(|block| block.strip_prefix("$ crosstie ")?.split_once('\n'))
        .collect();
    assert!(screens.len() >= 2, "{screens:?}");
    for (command, shown) in screens {
        let arguments: Vec<&str> = command.split(' ').collect();
        let (_, printed, stderr) = crosstie("..", &arguments);
        assert_eq!(shown, printed, "{command}: {stderr}");
    }
}
