//! Grey images side by side, with lines on them, as text in the format SVG: the pixels are a PNG file in the text.

use std::fmt::Write;

/// The width of a picture, its borders, and what is between two images.
const WIDTH: f64 = 720.0;
const BORDER: f64 = 20.0;
const GAP: f64 = 12.0;

/// An image: rows of pixels from 0, black, to 1, white.
pub(crate) struct Raster<'a> {
    pub(crate) name: &'a str,
    /// How many pixels are in a row.
    pub(crate) width: usize,
    pub(crate) pixels: &'a [f64],
    /// Lines through points `(x, y)` in pixels from the upper left corner.
    pub(crate) lines: Vec<Vec<(f64, f64)>>,
}

/// The sum that a PNG file has after each of its parts.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1)))
    })
}

/// A PNG file of grey pixels, not compressed.
fn png(width: usize, pixels: &[f64]) -> Vec<u8> {
    let grey = |p: &f64| (p * 255.0).round().clamp(0.0, 255.0) as u8;
    // Each row begins with the number of its filter, which is none.
    let rows: Vec<u8> = pixels.chunks(width).flat_map(|row| std::iter::once(0).chain(row.iter().map(grey))).collect();
    let mut packed = vec![0x78, 0x01];
    let blocks = rows.chunks(65_535);
    let last = blocks.len() - 1;
    for (k, block) in blocks.enumerate() {
        let length = block.len() as u16;
        packed.push(u8::from(k == last));
        packed.extend([length.to_le_bytes(), (!length).to_le_bytes()].concat());
        packed.extend(block);
    }
    let (a, b) = rows.iter().fold((1_u32, 0_u32), |(a, b), &x| {
        let a = (a + u32::from(x)) % 65_521;
        (a, (b + a) % 65_521)
    });
    packed.extend((b << 16 | a).to_be_bytes());

    let [w, h] = [width, pixels.len() / width].map(|n| (n as u32).to_be_bytes());
    let head = [&w[..], &h, &[8, 0, 0, 0, 0]].concat();
    let mut file = vec![0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
    for (kind, data) in [(b"IHDR", &head), (b"IDAT", &packed), (b"IEND", &Vec::new())] {
        let part = [&kind[..], data].concat();
        file.extend((data.len() as u32).to_be_bytes());
        file.extend(&part);
        file.extend(crc(&part).to_be_bytes());
    }
    file
}

/// Bytes as letters, six bits each.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, k| bits << 8 | u32::from(three.get(k).copied().unwrap_or(0)));
        for k in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * k) & 63) as usize];
            text.push(if k <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// The text of a picture: images of one size below a title, `columns` in a row.
pub(crate) fn rasters(title: &str, columns: usize, images: &[Raster<'_>]) -> String {
    let size = (WIDTH - 2.0 * BORDER - GAP * (columns as f64 - 1.0)) / columns as f64;
    let aspect = images.first().map_or(1.0, |i| (i.pixels.len() / i.width) as f64 / i.width as f64);
    let row = size * aspect + 34.0;
    let height = 44.0 + row * images.len().div_ceil(columns) as f64;
    let mut svg = format!(
        "<svg width=\"{WIDTH}\" height=\"{height:.0}\" viewBox=\"0 0 {WIDTH} {height:.0}\" xmlns=\"http://www.w3.org/2000/svg\" \
         xmlns:xlink=\"http://www.w3.org/1999/xlink\" font-family=\"sans-serif\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n\
         <text x=\"{BORDER}\" y=\"26\" font-size=\"18\">{title}</text>\n"
    );
    for (k, image) in images.iter().enumerate() {
        let (x, y) = (BORDER + (k % columns) as f64 * (size + GAP), 44.0 + (k / columns) as f64 * row);
        let scale = size / image.width as f64;
        let file = base64(&png(image.width, image.pixels));
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"14\">{}</text>\n\
             <image x=\"{x:.1}\" y=\"{:.1}\" width=\"{size:.1}\" height=\"{:.1}\" style=\"image-rendering:pixelated\" \
             xlink:href=\"data:image/png;base64,{file}\"/>\n",
            y + 14.0,
            image.name,
            y + 22.0,
            size * aspect
        );
        for line in &image.lines {
            let points: Vec<_> =
                line.iter().map(|(a, b)| format!("{:.1},{:.1}", x + a * scale, y + 22.0 + b * scale)).collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"#C85014\" stroke-width=\"1\"/>",
                points.join(" ")
            );
        }
    }
    svg + "</svg>\n"
}
