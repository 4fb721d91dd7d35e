//! Builds the book: the pages of `docs` in the order of `docs/SUMMARY.md`, by mdBook.
//!
//! Two things are added to what mdBook does. Formulas become MathML, which browsers draw without a script or a network
//! (`formulas`). Links lead to pages of the book, files beside these, or, if an address of the repository is given, to its
//! files; otherwise the text of a link to a source file stays, without the link (`links`). Then every link of the site is
//! followed (`check`).
//!
//! `polygrad-book-site [ADDRESS OF THE REPOSITORY]`, in the root of the repository.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use mdbook_driver::MDBook;
use mdbook_preprocessor::book::{Book, Chapter};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

mod check;
mod formulas;
mod links;

/// The pages of the root of the repository. `docs/SUMMARY.md` has an entry without a file for each.
const ROOT_PAGES: [&str; 4] = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

/// What is done to pages before mdBook renders them.
struct Pages {
    repository: Option<String>,
}

impl Pages {
    /// Gives an entry without a file the page of the root that its name says.
    fn fill(chapter: &mut Chapter) -> Result<()> {
        if let Some(page) =
            ROOT_PAGES.iter().find(|page| chapter.is_draft_chapter() && page.trim_end_matches(".md") == chapter.name)
        {
            chapter.content = std::fs::read_to_string(page)?;
            chapter.path = Some(page.into());
            chapter.source_path = Some(page.into());
        }
        Ok(())
    }
}

impl Preprocessor for Pages {
    fn name(&self) -> &str {
        "polygrad"
    }

    fn run(&self, _: &PreprocessorContext, mut book: Book) -> Result<Book> {
        let mut result = Ok(());
        book.for_each_chapter_mut(|chapter| {
            let filled = Self::fill(chapter);
            result = std::mem::replace(&mut result, Ok(())).and(filled);
        });
        result?;
        let known: Vec<String> = book.chapters().filter_map(links::in_repository).collect();
        let mut result = Ok(());
        book.for_each_chapter_mut(|chapter| {
            let Some(page) = links::in_repository(chapter) else { return };
            let map = |target: &str| links::target(target, &page, &known, self.repository.as_deref());
            let changed = formulas::drawn(&links::relinked(&chapter.content, map), &page);
            match changed {
                Ok(text) => chapter.content = text,
                Err(error) => result = Err(error),
            }
        });
        result.map(|()| book)
    }
}

fn build(repository: Option<String>) -> Result<usize> {
    let mut book = MDBook::load("docs/book")?;
    book.with_preprocessor(Pages { repository });
    book.build()?;
    // mdBook copies what is beside the pages, its own settings and this program included.
    std::fs::remove_dir_all("target/book/book")?;
    check::links(Path::new("target/book"))
}

fn main() -> ExitCode {
    match build(std::env::args().nth(1).filter(|address| !address.is_empty())) {
        Ok(links) => {
            println!("target/book/index.html; {links} links were followed");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("book: {error:#}");
            ExitCode::FAILURE
        }
    }
}
