//! The pictures of the pages "Tasks" of the book: `docs/pictures/task_*.svg` are what the example `tasks` draws. `make bless` writes them.

use super::pictures::assert_drawn;

#[allow(dead_code)]
#[path = "../../examples/pictures/tasks.rs"]
mod tasks;

#[test]
fn the_pictures_of_the_tasks_are_as_drawn() {
    for (name, draw) in tasks::PICTURES {
        assert_drawn(name, &draw().expect("a picture"));
    }
}
