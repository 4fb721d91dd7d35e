//! The pictures of the examples: points, lines and bands over common axes, as text in the format SVG.
//!
//! The examples say what is drawn, and the crate `plotters` draws it. The same numbers give the same text.

#![allow(dead_code, reason = "each example draws some of the marks")]

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use plotters::coord::Shift;
use plotters::prelude::*;

pub(crate) mod diagram;
pub(crate) mod raster;

/// The size of a picture.
const SIZE: (i32, i32) = (720, 420);
/// The length of both axes: what borders and labels leave.
const AXES: (i32, i32) = (SIZE.0 - 2 * 14 - 52, SIZE.1 - 58 - 14 - 38);
/// The crate rounds places to whole numbers, of which so many are a unit of the size: lines are smooth.
const FINE: i32 = 4;
const COLOURS: [RGBColor; 4] =
    [RGBColor(31, 90, 160), RGBColor(200, 80, 20), RGBColor(80, 80, 80), RGBColor(40, 140, 80)];

/// What is drawn of one series.
enum Mark {
    Line(Vec<(f64, f64)>),
    Points(Vec<(f64, f64)>),
    /// The lower ends, and the upper ones.
    Band(Vec<(f64, f64)>, Vec<(f64, f64)>),
    /// Where arrows begin, and where they end.
    Arrows(Vec<(f64, f64)>, Vec<(f64, f64)>),
    /// Opposite corners of rectangles, and how dark each of them is, from 0 to 1.
    Shades(Vec<[(f64, f64); 2]>, Vec<f64>),
}

/// Square images in rows of so many, each pixel from 0, white, to 1.
struct Tiles<'a> {
    side: usize,
    columns: usize,
    pixels: &'a [f64],
}

impl Tiles<'_> {
    /// Draws the images below the title, from the left, as large as they fit; neighbours of one grey are one rectangle.
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), Box<dyn Error>>
    where
        B::ErrorType: 'static,
    {
        let Tiles { side, columns, pixels } = *self;
        let rows = (pixels.len() / (side * side)).div_ceil(columns);
        let (width, height) = (SIZE.0 - 2 * 62, SIZE.1 - 58);
        // The width of a pixel; images are a pixel apart.
        let pixel = (width * FINE / (columns * (side + 1)) as i32).min(height * FINE / (rows * (side + 1)) as i32);
        let grey = |p: f64| (255.0 - (p * 8.0).round().clamp(0.0, 8.0) * 30.0) as u8;
        for (k, line) in pixels.chunks(side).enumerate() {
            let (tile, row) = (k / side, k % side);
            let at = |column: usize| {
                let x = ((tile % columns) * (side + 1) + column) as i32;
                let y = ((tile / columns) * (side + 1) + row) as i32;
                (62 * FINE + pixel * x, 48 * FINE + pixel * y)
            };
            let mut from = 0;
            for run in line.chunk_by(|a, b| grey(*a) == grey(*b)) {
                let (level, to) = (grey(run[0]), from + run.len());
                if level < 255 {
                    let end = (at(to).0, at(to).1 + pixel);
                    area.draw(&Rectangle::new([at(from), end], RGBColor(level, level, level).filled()))?;
                }
                from = to;
            }
        }
        Ok(())
    }
}

/// A mark, its colour, and its name in the legend; without a name it is not there.
struct Series<'a> {
    mark: Mark,
    colour: RGBColor,
    name: &'a str,
}

/// A picture; what is added later is drawn above what was added before.
pub(crate) struct Picture<'a> {
    title: &'a str,
    labels: [&'a str; 2],
    with_zero: bool,
    logarithmic: bool,
    equal: bool,
    series: Vec<Series<'a>>,
    /// What is there in place of axes.
    tiles: Option<Tiles<'a>>,
}

fn pairs(x: &[f64], y: &[f64]) -> Vec<(f64, f64)> {
    x.iter().copied().zip(y.iter().copied()).collect()
}

fn font(size: i32) -> TextStyle<'static> {
    ("sans-serif", size * FINE).into_font().color(&BLACK)
}

impl<'a> Picture<'a> {
    /// A picture with a title and the names of its axes.
    pub(crate) fn new(title: &'a str, x: &'a str, y: &'a str) -> Self {
        Picture {
            title,
            labels: [x, y],
            with_zero: false,
            logarithmic: false,
            equal: false,
            series: Vec::new(),
            tiles: None,
        }
    }

    /// A picture of square images, `columns` in a row, each pixel from 0, white, to 1.
    pub(crate) fn tiles(title: &'a str, side: usize, columns: usize, pixels: &'a [f64]) -> Self {
        Picture { tiles: Some(Tiles { side, columns, pixels }), ..Picture::new(title, "", "") }
    }

    /// The vertical axis begins at zero.
    pub(crate) fn with_zero(self) -> Self {
        Picture { with_zero: true, ..self }
    }

    /// The vertical axis is logarithmic, with a number at each power of ten: values are positive.
    pub(crate) fn logarithmic(self) -> Self {
        Picture { logarithmic: true, ..self }
    }

    /// A unit is as long on both axes.
    pub(crate) fn equal(self) -> Self {
        Picture { equal: true, ..self }
    }

    fn with(mut self, mark: Mark, colour: usize, name: &'a str) -> Self {
        self.series.push(Series { mark, colour: COLOURS[colour], name });
        self
    }

    /// A line through points, in one of the colours.
    pub(crate) fn line(self, name: &'a str, colour: usize, x: &[f64], y: &[f64]) -> Self {
        self.with(Mark::Line(pairs(x, y)), colour, name)
    }

    /// Single points.
    pub(crate) fn points(self, name: &'a str, colour: usize, x: &[f64], y: &[f64]) -> Self {
        self.with(Mark::Points(pairs(x, y)), colour, name)
    }

    /// The area between two lines.
    pub(crate) fn band(self, name: &'a str, colour: usize, x: &[f64], low: &[f64], high: &[f64]) -> Self {
        self.with(Mark::Band(pairs(x, low), pairs(x, high)), colour, name)
    }

    /// Arrows from points to others.
    pub(crate) fn arrows(self, name: &'a str, colour: usize, from: &[(f64, f64)], to: &[(f64, f64)]) -> Self {
        self.with(Mark::Arrows(from.to_vec(), to.to_vec()), colour, name)
    }

    /// Rows of numbers from 0 to 1 as rectangles in eight shades of a colour, the first row below. `x` and `y` are where the
    /// columns and the rows begin and end. Neighbours of one shade are one rectangle.
    pub(crate) fn shades(self, name: &'a str, colour: usize, x: &[f64], y: &[f64], numbers: &[f64]) -> Self {
        let (mut corners, mut shades) = (Vec::new(), Vec::new());
        let shade = |p: &f64| (p * 8.0).round().clamp(0.0, 8.0);
        for (k, row) in numbers.chunks(x.len() - 1).enumerate() {
            let mut from = 0;
            for run in row.chunk_by(|a, b| shade(a) == shade(b)) {
                let to = from + run.len();
                if shade(&run[0]) > 0.0 {
                    corners.push([(x[from], y[k]), (x[to], y[k + 1])]);
                    shades.push(shade(&run[0]) / 8.0);
                }
                from = to;
            }
        }
        self.with(Mark::Shades(corners, shades), colour, name)
    }

    /// The points with heights as they are drawn.
    fn placed(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        points.iter().map(|&(x, y)| (x, if self.logarithmic { y.log10() } else { y })).collect()
    }

    /// The least and the largest coordinate along an axis, with some room outside.
    fn range(&self, of: impl Fn(&(f64, f64)) -> f64, room: f64) -> (f64, f64) {
        let points = self.series.iter().flat_map(|series| match &series.mark {
            Mark::Line(points) | Mark::Points(points) => self.placed(points),
            Mark::Band(low, high) | Mark::Arrows(low, high) => [self.placed(low), self.placed(high)].concat(),
            Mark::Shades(corners, _) => self.placed(corners.as_flattened()),
        });
        let coordinates = points.map(|p| of(&p));
        let (lo, hi) = coordinates.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
        let room = room * (hi - lo);
        (lo - room, hi + room)
    }

    /// The ranges of both axes, one of them widened about its middle so that a unit is as long on both.
    fn widened(&self, x: (f64, f64), y: (f64, f64)) -> ((f64, f64), (f64, f64)) {
        let unit = f64::max((x.1 - x.0) / f64::from(AXES.0), (y.1 - y.0) / f64::from(AXES.1));
        let about = |(lo, hi): (f64, f64), length: i32| {
            let (middle, half) = ((lo + hi) / 2.0, unit * f64::from(length) / 2.0);
            (middle - half, middle + half)
        };
        (about(x, AXES.0), about(y, AXES.1))
    }

    /// Samples and names in a row above the axes, what is drawn last first.
    fn legend<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), Box<dyn Error + 'a>>
    where
        B::ErrorType: 'static,
    {
        let at = |x: i32, y: i32| (x * FINE, (42 + y) * FINE);
        let mut x = 62;
        for Series { mark, colour, name } in self.series.iter().rev().filter(|series| !series.name.is_empty()) {
            match mark {
                Mark::Line(_) | Mark::Arrows(..) => {
                    let line = [at(x, 0), at(x + 22, 0)];
                    area.draw(&PathElement::new(line, colour.stroke_width(2 * FINE as u32)))?;
                }
                Mark::Points(_) => area.draw(&Circle::new(at(x + 15, 0), 3 * FINE, colour.filled()))?,
                Mark::Band(..) | Mark::Shades(..) => {
                    area.draw(&Rectangle::new([at(x, -5), at(x + 22, 5)], colour.mix(0.2).filled()))?;
                }
            }
            area.draw(&Text::new(*name, at(x + 28, -6), font(14)))?;
            // A letter is about so wide.
            x += 52 + name.chars().count() as i32 * 7;
        }
        Ok(())
    }

    /// Draws the picture into an area.
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), Box<dyn Error + 'a>>
    where
        B::ErrorType: 'static,
    {
        if let Some(tiles) = &self.tiles {
            area.draw(&Text::new(self.title, (62 * FINE, 10 * FINE), font(18)))?;
            return tiles.draw(area);
        }
        self.legend(area)?;
        let ((left, right), (bottom, top)) = (self.range(|p| p.0, 0.02), self.range(|p| p.1, 0.06));
        let bottom = if self.with_zero { 0.0 } else { bottom };
        let ((left, right), (bottom, top)) = match self.equal {
            true => self.widened((left, right), (bottom, top)),
            false => ((left, right), (bottom, top)),
        };
        let mut chart = ChartBuilder::on(area)
            .margin(14 * FINE)
            .margin_top(58 * FINE)
            .x_label_area_size(38 * FINE)
            .y_label_area_size(52 * FINE)
            .build_cartesian_2d(left..right, bottom..top)?;
        // Numbers without zeros at their end, and without the sign of a zero.
        let number = |x: &f64| format!("{}", (x * 1e6).round() / 1e6 + 0.0);
        let height = |y: &f64| match self.logarithmic {
            true if *y < -3.5 => format!("1e{y:.0}"),
            true => number(&10.0_f64.powf(*y)),
            false => number(y),
        };
        let mut mesh = chart.configure_mesh();
        if self.logarithmic {
            // At most one number for each power of ten.
            mesh.y_labels((top.floor() - bottom.ceil()) as usize + 1);
        }
        mesh.x_desc(self.labels[0])
            .y_desc(self.labels[1])
            .x_label_formatter(&number)
            .y_label_formatter(&height)
            .axis_desc_style(font(15))
            .label_style(font(13))
            .axis_style(BLACK.mix(0.6).stroke_width(FINE as u32))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12).stroke_width(FINE as u32))
            .set_all_tick_mark_size(5 * FINE)
            .draw()?;
        for Series { mark, colour, .. } in &self.series {
            match mark {
                Mark::Arrows(from, to) => {
                    let style = colour.stroke_width(FINE as u32);
                    for (a, b) in self.placed(from).into_iter().zip(self.placed(to)) {
                        // The head is in the units of the picture, as two short lines.
                        let (along, across) = ((b.0 - a.0) * 0.3, (b.1 - a.1) * 0.3);
                        let aspect = (top - bottom) / (right - left);
                        let head = |turn: f64| {
                            (b.0 - along - turn * across / aspect * 0.6, b.1 - across + turn * along * aspect * 0.6)
                        };
                        chart.draw_series([PathElement::new([a, b], style)])?;
                        chart.draw_series([PathElement::new([head(1.0), b, head(-1.0)], style)])?;
                    }
                }
                Mark::Shades(corners, shades) => {
                    let cells = corners.iter().zip(shades);
                    chart.draw_series(cells.map(|(c, shade)| Rectangle::new(*c, colour.mix(0.9 * shade).filled())))?;
                }
                Mark::Line(points) => {
                    let style = colour.stroke_width(2 * FINE as u32);
                    chart.draw_series([PathElement::new(self.placed(points), style)])?;
                }
                Mark::Points(points) => {
                    let points = self.placed(points);
                    chart.draw_series(points.iter().map(|p| Circle::new(*p, 3 * FINE, colour.filled())))?;
                }
                Mark::Band(low, high) => {
                    let (low, high) = (self.placed(low), self.placed(high));
                    let outline: Vec<_> = low.iter().chain(high.iter().rev()).copied().collect();
                    chart.draw_series([Polygon::new(outline, colour.mix(0.2))])?;
                }
            }
        }
        area.draw(&Text::new(self.title, (62 * FINE, 10 * FINE), font(18)))?;
        Ok(())
    }

    /// The text of the picture.
    pub(crate) fn svg(self) -> Result<String, Box<dyn Error + 'a>> {
        panels(&[self])
    }
}

/// The text of several pictures, one below the other.
pub(crate) fn panels<'a>(pictures: &[Picture<'a>]) -> Result<String, Box<dyn Error + 'a>> {
    let mut text = String::new();
    let (width, height) = (SIZE.0, SIZE.1 * pictures.len() as i32);
    {
        let size = ((width * FINE) as u32, (height * FINE) as u32);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        for (picture, part) in pictures.iter().zip(area.split_evenly((pictures.len(), 1))) {
            picture.draw(&part)?;
        }
        area.present()?;
    }
    let fine = format!("width=\"{}\" height=\"{}\"", width * FINE, height * FINE);
    Ok(text.replacen(&fine, &format!("width=\"{width}\" height=\"{height}\""), 1))
}

/// The pictures of several texts, one below the other.
pub(crate) fn stacked(pictures: &[String]) -> String {
    let height = |svg: &str| {
        let text = svg.split_once(" height=\"").and_then(|(_, rest)| rest.split_once('"')).map_or("", |(text, _)| text);
        text.parse().unwrap_or(0.0)
    };
    let (mut parts, mut y) = (String::new(), 0.0);
    for svg in pictures {
        // A drawing inside of another one has its place there.
        parts += &svg.replacen("<svg", &format!("<svg y=\"{y:.0}\""), 1);
        y += height(svg);
    }
    format!(
        "<svg width=\"{0}\" height=\"{y:.0}\" viewBox=\"0 0 {0} {y:.0}\" xmlns=\"http://www.w3.org/2000/svg\">\n{parts}</svg>\n",
        SIZE.0
    )
}

/// Writes a picture into a folder, which is made if there is none, and says where it is.
pub(crate) fn save(folder: &Path, name: &str, svg: &str) -> Result<PathBuf, std::io::Error> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(name).with_extension("svg");
    std::fs::write(&path, svg)?;
    Ok(path)
}

/// The folder for pictures: the first argument of the program, or else `target/pictures`.
pub(crate) fn folder() -> PathBuf {
    std::env::args().nth(1).unwrap_or_else(|| "target/pictures".to_owned()).into()
}

/// The program of an example: its report, and its picture in the folder for pictures; with `--time` as the first argument, its
/// times.
pub(crate) fn main(
    name: &str,
    run: impl FnOnce(&mut dyn Write) -> Result<String, Box<dyn Error>>,
    times: impl FnOnce() -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("--time") {
        return times();
    }
    let svg = run(&mut std::io::stdout())?;
    println!("picture: {}", save(&folder(), name, &svg)?.display());
    Ok(())
}

/// Prints a value and a norm of a derivative, how long it took to make the function that computes both with its first run, and
/// how long a run takes: the median of so many, and the least.
pub(crate) fn timed<F, E>(name: &str, runs: usize, make: impl FnOnce() -> F) -> Result<(), Box<dyn Error>>
where
    F: Fn() -> Result<[f64; 2], E>,
    E: Error + 'static,
{
    let ms = |from: Instant| from.elapsed().as_secs_f64() * 1e3;
    let begin = Instant::now();
    let f = make();
    let [value, norm] = f()?;
    let first = ms(begin);
    let one = || {
        let begin = Instant::now();
        f().map(|_| ms(begin))
    };
    let mut times = (0..runs).map(|_| one()).collect::<Result<Vec<_>, _>>()?;
    times.sort_unstable_by(f64::total_cmp);
    let [middle, least] = [times[runs / 2], times[0]];
    println!(
        "{name}: {value:.12e}, derivative {norm:.12e}; {middle:.4} ms, at least {least:.4}, the first time {first:.1} ms"
    );
    Ok(())
}
