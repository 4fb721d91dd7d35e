//! The pretty forms that operations have for themselves: loops, reductions, convolutions; and the names of attributes.
//!
//! Law: attributes have the names of the generic form, whichever form the text has.

use super::attributes::{Attribute, parse_attribute, parse_dict, parse_dimensions};
use super::module::{ModuleOperation, ModuleValueId};
use super::parse::{Parser, Tail};
use super::text::Read;
use super::types::parse_type;

impl Parser<'_> {
    /// The names of the operands whose names are followed by those of arguments: `(%a = %b, ..)`.
    fn bound(&mut self) -> Read<(Vec<String>, Vec<ModuleValueId>)> {
        let (mut names, mut operands) = (Vec::new(), Vec::new());
        self.c.expect("(")?;
        while !self.c.take(")") {
            if !names.is_empty() {
                self.c.expect(",")?;
            }
            if self.c.peek() != Some(b'%') {
                return self.c.error("expected a value");
            }
            names.push(self.c.name()?);
            self.c.expect("=")?;
            if self.c.peek() != Some(b'%') {
                return self.c.error("expected a value");
            }
            operands.push(self.operand()?);
        }
        Ok((names, operands))
    }

    pub(super) fn while_loop(&mut self, depth: usize) -> Read<Tail> {
        let (names, operands) = self.bound()?;
        let mut tail = Tail { operands, ..Tail::default() };
        self.types(&mut tail)?;
        if self.c.take_word("attributes") {
            self.c.expect("{")?;
            tail.attributes = parse_dict(&mut self.c, "}", 0)?;
        }
        for word in ["cond", "do"] {
            if !self.c.take_word(word) {
                return self.c.error(format!("expected `{word}`"));
            }
            if tail.types.len() != names.len() {
                return self.c.error("a loop needs a type for each carry");
            }
            let arguments = names.iter().cloned().zip(tail.types.iter().cloned()).collect();
            tail.regions.push(self.region(arguments, depth)?);
        }
        Ok(tail)
    }

    /// `(%x init: %c), (%y init: %d) applies stablehlo.add across dimensions = [0] : ..`, or with a region, whose
    /// arguments are in pairs.
    pub(super) fn reduce(&mut self, depth: usize) -> Read<Tail> {
        let (mut values, mut inits, mut applied) = (Vec::new(), Vec::new(), None);
        let mut tail = Tail::default();
        loop {
            self.c.expect("(")?;
            if self.c.peek() != Some(b'%') {
                return self.c.error("expected a value");
            }
            values.push(self.operand()?);
            if !self.c.take_word("init") {
                return self.c.error("expected `init`");
            }
            self.c.expect(":")?;
            if self.c.peek() != Some(b'%') {
                return self.c.error("expected a value");
            }
            inits.push(self.operand()?);
            self.c.expect(")")?;
            if !self.c.take(",") {
                break;
            }
        }
        if self.c.take_word("applies") {
            applied = Some(self.c.some_word("an operation")?.to_owned());
        }
        if !self.c.take_word("across") || !self.c.take_word("dimensions") {
            return self.c.error("expected `across dimensions`");
        }
        self.c.expect("=")?;
        tail.attributes.push(("dimensions".into(), parse_attribute(&mut self.c, 0)?));
        if self.c.take("{") {
            tail.attributes.extend(parse_dict(&mut self.c, "}", 0)?);
        }
        self.types(&mut tail)?;
        if let Some(op) = applied {
            let name = op.strip_prefix("stablehlo.").unwrap_or(&op).to_owned();
            tail.attributes.push(("applies".into(), Attribute::Name(name)));
        } else {
            if !self.c.take_word("reducer") {
                return self.c.error("expected `reducer`");
            }
            let (mut left, mut right) = (Vec::new(), Vec::new());
            while self.c.take("(") {
                for side in [&mut left, &mut right] {
                    if !self.c.take("%") {
                        return self.c.error("expected an argument");
                    }
                    self.c.at -= 1;
                    let name = self.c.name()?;
                    self.c.expect(":")?;
                    side.push((name, parse_type(&mut self.c, 0)?));
                    self.location()?;
                    if !self.c.take(",") {
                        self.c.expect(")")?;
                        break;
                    }
                }
            }
            left.extend(right);
            tail.regions.push(self.region(left, depth)?);
        }
        values.extend(inits);
        tail.operands = values;
        Ok(tail)
    }

    pub(super) fn convolution(&mut self) -> Read<Tail> {
        let mut tail = Tail::default();
        self.c.expect("(")?;
        while !self.c.take(")") {
            match self.c.peek() {
                Some(b'%') => tail.operands.push(self.operand()?),
                Some(b',') => self.c.at += 1,
                _ => return self.c.error("expected a value"),
            }
        }
        if !self.c.take_word("dim_numbers") {
            return self.c.error("expected `dim_numbers`");
        }
        self.c.expect("=")?;
        tail.attributes.push(("dimension_numbers".into(), parse_dimensions(&mut self.c)?));
        self.c.expect(",")?;
        if !self.c.take_word("window") {
            return self.c.error("expected `window`");
        }
        self.c.expect("=")?;
        self.c.expect("{")?;
        for (name, value) in parse_dict(&mut self.c, "}", 0)? {
            let full = match name.as_str() {
                "stride" => "window_strides",
                "pad" => "padding",
                "lhs_dilate" => "lhs_dilation",
                "rhs_dilate" => "rhs_dilation",
                "reverse" => "window_reversal",
                _ => "",
            };
            tail.attributes.push((full.to_owned(), value));
        }
        if self.c.take("{") {
            tail.attributes.extend(parse_dict(&mut self.c, "}", 0)?);
        }
        self.types(&mut tail)?;
        Ok(tail)
    }
}

/// Gives the attributes and the words of the pretty form the names of the generic form.
pub(super) fn named(operation: &mut ModuleOperation, words: Vec<String>) -> Result<(), String> {
    let rename = |operation: &mut ModuleOperation, pairs: &[(&str, &str)]| {
        for (name, _) in &mut operation.attributes {
            if let Some((_, full)) = pairs.iter().find(|(short, _)| short == name) {
                *name = (*full).to_owned();
            }
        }
    };
    match operation.name.as_str() {
        "compare" | "chlo.broadcast_compare" => {
            for (name, word) in ["comparison_direction", "compare_type"].iter().zip(words) {
                operation.attributes.push(((*name).to_owned(), Attribute::Word(word)));
            }
        }
        "select" | "chlo.broadcast_select" => operation.types = operation.types.pop().into_iter().collect(),
        "iota" | "dynamic_iota" => rename(operation, &[("dim", "iota_dimension")]),
        "broadcast_in_dim" | "dynamic_broadcast_in_dim" => rename(operation, &[("dims", "broadcast_dimensions")]),
        "transpose" => rename(operation, &[("dims", "permutation")]),
        "reverse" => rename(operation, &[("dims", "dimensions")]),
        "concatenate" | "get_dimension_size" | "set_dimension_size" => rename(operation, &[("dim", "dimension")]),
        "dynamic_slice" => rename(operation, &[("sizes", "slice_sizes")]),
        "pad" => {
            let full = [("low", "edge_padding_low"), ("high", "edge_padding_high"), ("interior", "interior_padding")];
            rename(operation, &full);
        }
        "fft" => rename(operation, &[("type", "fft_type"), ("length", "fft_length")]),
        "custom_call" => rename(operation, &[("callee", "call_target_name")]),
        "rng_bit_generator" => rename(operation, &[("algorithm", "rng_algorithm")]),
        "rng" => rename(operation, &[("distribution", "rng_distribution")]),
        "dot_general" => {
            // Pairs of lists to the names of the generic form.
            for short in ["batching_dims", "contracting_dims"] {
                let Some(k) = operation.attributes.iter().position(|(name, _)| name == short) else { continue };
                if let (_, Attribute::List(both)) = operation.attributes.remove(k) {
                    for (side, value) in ["lhs", "rhs"].iter().zip(both) {
                        operation.attributes.push((format!("{side}_{short}"), value));
                    }
                }
            }
            if let Some(k) = operation.attributes.iter().position(|(name, _)| name == "dot_dimension_numbers")
                && let (_, Attribute::Dict(all)) = operation.attributes.remove(k)
            {
                for (name, value) in all {
                    operation.attributes.push((name.replace("dimensions", "dims"), value));
                }
            }
        }
        "slice" => {
            if let Some(k) = operation.attributes.iter().position(|(name, _)| name == "ranges")
                && let (_, Attribute::List(ranges)) = operation.attributes.remove(k)
            {
                for (k, name) in ["start_indices", "limit_indices", "strides"].iter().enumerate() {
                    let one = |range: &Attribute| match range {
                        Attribute::List(range) if range.len() >= 2 => range.get(k).cloned(),
                        _ => None,
                    };
                    let all: Option<Vec<Attribute>> =
                        ranges.iter().map(|r| one(r).or((k == 2).then_some(Attribute::Int(1)))).collect();
                    let Some(all) = all else { return Err("a range needs a start and an end".into()) };
                    operation.attributes.push(((*name).to_owned(), Attribute::List(all)));
                }
            }
        }
        "get_tuple_element" => {
            if let Some(position) = operation.ints("ranges").and_then(|all| all.first().copied()) {
                operation.attributes.push(("index".into(), Attribute::Int(position)));
            }
        }
        _ => {}
    }
    Ok(())
}
