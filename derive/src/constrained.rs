//! `#[derive(Constrained)]`: the domain of each leaf of a struct, by attributes of its fields.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, DeriveInput, Error, Expr, Field, Token, parse_quote};

use crate::{Derived, Variant, variants};

/// The names of attributes, with their variants and the number of their arguments.
const DOMAINS: [(&str, &str, usize); 10] = [
    ("positive", "Positive", 0),
    ("lower", "Lower", 1),
    ("upper", "Upper", 1),
    ("bounds", "Bounds", 2),
    ("ordered", "Ordered", 0),
    ("positive_ordered", "PositiveOrdered", 0),
    ("simplex", "Simplex", 0),
    ("corr", "Corr", 0),
    ("cholesky_corr", "CholeskyCorr", 0),
    ("cholesky_cov", "CholeskyCov", 0),
];

/// The implementation of the trait.
pub(crate) fn implementation(input: &DeriveInput) -> Result<TokenStream, Error> {
    let derived = Derived::of(input)?;
    let (name, mut generics) = (&input.ident, input.generics.clone());
    if derived.is_given {
        let interpreter = &derived.interpreter;
        generics.make_where_clause().predicates.push(parse_quote!(#interpreter: ::polygrad::BaseTensor));
    }
    for tree in &derived.trees {
        generics.make_where_clause().predicates.push(parse_quote!(#tree: ::polygrad::stats::Constrained));
    }
    let (parameters, _, condition) = generics.split_for_impl();
    let (_, arguments, _) = input.generics.split_for_impl();
    let arms = variants(input).iter().map(|variant| arm(&derived, variant)).collect::<Result<Vec<_>, Error>>()?;
    let subject = if arms.is_empty() { quote!(*self) } else { quote!(self) };
    Ok(quote! {
        #[automatically_derived]
        #[allow(clippy::all, unused_variables, unused_mut)]
        impl #parameters ::polygrad::stats::Constrained for #name #arguments #condition {
            fn domains(&self) -> ::std::vec::Vec<::polygrad::stats::Domain> {
                let mut all = ::std::vec::Vec::new();
                match #subject { #(#arms)* }
                all
            }
        }
    })
}

/// The match arm of a variant, or of a struct.
fn arm(derived: &Derived, variant: &Variant<'_>) -> Result<TokenStream, Error> {
    let path = &variant.path;
    let (mut bound, mut seen) = (Vec::new(), Vec::new());
    for (k, field) in variant.fields.iter().enumerate() {
        let attribute = constraint(field)?;
        if !derived.is_tree(&field.ty) {
            match attribute {
                None => continue,
                Some(attribute) => {
                    return Err(Error::new(
                        attribute.span(),
                        "derive(Constrained): a parameter must be a tensor or a tree, but this field is plain data; leave the attribute out",
                    ));
                }
            }
        }
        let (ty, value) = (&field.ty, format_ident!("field_{k}"));
        let member = match &field.ident {
            Some(name) => quote!(#name),
            None => {
                let index = syn::Index::from(k);
                quote!(#index)
            }
        };
        bound.push(quote!(#member: #value));
        let own = quote_spanned!(ty.span()=> <#ty as ::polygrad::stats::Constrained>::domains(#value));
        seen.push(match attribute {
            None => quote!(all.extend(#own);),
            Some(attribute) => {
                let domain = domain(attribute)?;
                quote!(all.extend(::std::vec![#domain; #own.len()]);)
            }
        });
    }
    Ok(quote!(#path { #(#bound,)* .. } => { #(#seen)* }))
}

/// The attribute of a field, if there is one.
fn constraint(field: &Field) -> Result<Option<&Attribute>, Error> {
    let mut found = field.attrs.iter().filter(|attribute| attribute.path().is_ident("constrain"));
    match (found.next(), found.next()) {
        (_, Some(second)) => Err(Error::new(
            second.span(),
            "derive(Constrained): a field must have one domain, but this is a second one; leave one of them out",
        )),
        (first, None) => Ok(first),
    }
}

/// The domain that an attribute names.
fn domain(attribute: &Attribute) -> Result<TokenStream, Error> {
    let named: Expr = attribute.parse_args()?;
    let nothing = Punctuated::new();
    let (name, arguments): (&Expr, &Punctuated<Expr, Token![,]>) =
        if let Expr::Call(call) = &named { (&call.func, &call.args) } else { (&named, &nothing) };
    let Expr::Path(path) = name else { return Err(unknown(named.span())) };
    let name: &Ident = path.path.require_ident()?;
    let Some((_, variant, count)) = DOMAINS.iter().find(|(known, ..)| name == known) else {
        return Err(unknown(name.span()));
    };
    if arguments.len() != *count {
        let fact = arguments.len();
        return Err(Error::new(
            named.span(),
            format!(
                "derive(Constrained): `{name}` must have {count} arguments, but it has {fact}; write `bounds(low, high)`, `lower(low)`, `positive`"
            ),
        ));
    }
    let variant = format_ident!("{variant}");
    Ok(match arguments.is_empty() {
        true => quote!(::polygrad::stats::Domain::#variant),
        false => quote!(::polygrad::stats::Domain::#variant(#arguments)),
    })
}

fn unknown(at: proc_macro2::Span) -> Error {
    let names: Vec<&str> = DOMAINS.iter().map(|(name, ..)| *name).collect();
    Error::new(
        at,
        format!(
            "derive(Constrained): the domain must be a known one, but this is another name; write one of {}",
            names.join(", ")
        ),
    )
}
