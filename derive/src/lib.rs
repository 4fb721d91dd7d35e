//! `#[derive(Tree)]`: structs and enums as trees of tensors, which loops may return. Re-exported by `polygrad::Tree`. And
//! `#[derive(Constrained)]`: the domains of parameters.

mod constrained;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Data, DeriveInput, Error, Field, Fields, GenericParam, Generics, Type, TypeParam, parse_macro_input, parse_quote,
};

/// Makes a struct or an enum a tree of tensors.
///
/// The interpreter is the type parameter bounded by `BaseTensor`, or named `T`. A field whose type mentions it is a
/// tree; every other field is plain data, which is `Clone + PartialEq + Debug`. Parameters that are bounded by `Tree`,
/// or not at all, are trees, too; without an interpreter every type parameter is.
#[proc_macro_derive(Tree)]
pub fn derive_tree(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    Derived::of(&input).map_or_else(Error::into_compile_error, |derived| derived.implementation(&input)).into()
}

/// Says which domains the fields of a struct of parameters have: `#[constrain(positive)]`, `lower(a)`, `upper(b)`,
/// `bounds(a, b)`, `ordered`, `positive_ordered`, `simplex`, `corr`, `cholesky_corr`, `cholesky_cov`. Without an attribute a
/// field has the domains of its type.
#[proc_macro_derive(Constrained, attributes(constrain))]
pub fn derive_constrained(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    constrained::implementation(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// The roles of the type parameters of a type.
struct Derived {
    interpreter: Ident,
    /// Whether the interpreter is a parameter of the type.
    is_given: bool,
    /// Parameters that are trees.
    trees: Vec<Ident>,
    /// The interpreter of the mapped tree.
    other: Ident,
}

impl Derived {
    fn of(input: &DeriveInput) -> Result<Derived, Error> {
        if let Data::Union(data) = &input.data {
            return Err(Error::new(
                data.union_token.span(),
                "derive(Tree): needs a struct or an enum, but this is a union; make it an enum",
            ));
        }
        if let Some(lifetime) = input.generics.lifetimes().next() {
            return Err(Error::new(
                lifetime.span(),
                "derive(Tree): a tree must own its contents, but this one has a lifetime; use an owned type",
            ));
        }
        let parameters: Vec<&TypeParam> = input.generics.type_params().collect();
        let bounded: Vec<&TypeParam> =
            parameters.iter().copied().filter(|p| is_bounded(&input.generics, p, "BaseTensor")).collect();
        if let [_, second, ..] = &bounded[..] {
            return Err(Error::new(
                second.span(),
                "derive(Tree): a tree must have one interpreter, but this is a second parameter bounded by `BaseTensor`; use the first",
            ));
        }
        let named = || parameters.iter().copied().find(|p| p.ident == "T" && !is_bounded(&input.generics, p, "Tree"));
        let interpreter = bounded.first().copied().or_else(named).map(|p| p.ident.clone());
        let is_tree = |p: &&&TypeParam| match &interpreter {
            Some(interpreter) => {
                let free = p.bounds.is_empty() && clauses(&input.generics, p).next().is_none();
                p.ident != *interpreter && (free || is_bounded(&input.generics, p, "Tree"))
            }
            None => true,
        };
        let trees = parameters.iter().filter(is_tree).map(|p| p.ident.clone()).collect();
        let derived = Derived {
            is_given: interpreter.is_some(),
            interpreter: interpreter.unwrap_or_else(|| Ident::new("Interpreter", Span::mixed_site())),
            trees,
            other: Ident::new("OtherInterpreter", Span::mixed_site()),
        };
        derived.check(input)?;
        Ok(derived)
    }

    /// Reports mistakes that rustc would report with a less helpful message, or not at all.
    fn check(&self, input: &DeriveInput) -> Result<(), Error> {
        let mut faults: Option<Error> = None;
        for field in fields(&input.data) {
            if let Some(message) = self.fault(&field.ty) {
                let fault = Error::new(field.ty.span(), message);
                match &mut faults {
                    Some(all) => all.combine(fault),
                    None => faults = Some(fault),
                }
            }
        }
        faults.map_or(Ok(()), Err)
    }

    fn fault(&self, ty: &Type) -> Option<String> {
        let interpreter = &self.interpreter;
        if self.is_given && is_exactly(ty, interpreter) {
            return Some(format!(
                "derive(Tree): a field must be a tree or plain data, but this is a bare value of the interpreter `{interpreter}`; write \
                 `Tensor<{interpreter}, ..>`, or give a parameter that is a tree itself another name than `T`"
            ));
        }
        if !self.is_given && !self.is_tree(ty) && mentions(ty.to_token_stream(), &|word| word == "Tensor") {
            return Some(String::from(
                "derive(Tree): the interpreter must be a parameter, but that of this tensor is fixed, so it could not be differentiated; \
                 give the type a parameter `T: BaseTensor`, and write `Tensor<T, ..>`",
            ));
        }
        None
    }

    /// Whether a field of this type is a tree.
    fn is_tree(&self, ty: &Type) -> bool {
        mentions(ty.to_token_stream(), &|word| {
            (self.is_given && *word == self.interpreter) || self.trees.iter().any(|tree| word == tree)
        })
    }

    fn implementation(&self, input: &DeriveInput) -> TokenStream {
        let (name, interpreter, other) = (&input.ident, &self.interpreter, &self.other);
        let mut generics = input.generics.clone();
        if self.is_given {
            let bound = quote!(#interpreter: ::polygrad::BaseTensor);
            generics.make_where_clause().predicates.push(parse_quote!(#bound));
        } else {
            generics.params.push(parse_quote!(#interpreter: ::polygrad::BaseTensor));
        }
        let mut same = generics.clone();
        for tree in &self.trees {
            generics.make_where_clause().predicates.push(parse_quote!(#tree: ::polygrad::Tree<#interpreter>));
            let bound = quote!(#tree: ::polygrad::Tree<#interpreter, With<#interpreter> = #tree>);
            same.make_where_clause().predicates.push(parse_quote!(#bound));
        }
        let (_, _, condition_of_rows) = same.split_for_impl();
        let (parameters, _, condition) = generics.split_for_impl();
        let (_, arguments, _) = input.generics.split_for_impl();
        let mapped = self.mapped(&input.generics);
        let arms = variants(input).into_iter().map(|variant| self.arms(&variant));
        let (map_arms, visit_arms): (Vec<TokenStream>, Vec<TokenStream>) = arms.unzip();
        // An enum without variants has no value to match.
        let subject = if map_arms.is_empty() { quote!(*self) } else { quote!(self) };
        quote! {
            #[automatically_derived]
            #[allow(clippy::all, unused_variables, unreachable_code)]
            impl #parameters ::polygrad::Tree<#interpreter> for #name #arguments #condition {
                type With<#other: ::polygrad::BaseTensor> = #name #mapped;

                #[track_caller]
                fn map<#other: ::polygrad::BaseTensor>(
                    &self,
                    f: &mut dyn ::core::ops::FnMut(&#interpreter) -> #other,
                ) -> Self::With<#other> {
                    match #subject { #(#map_arms)* }
                }

                fn visit(&self, visitor: &mut dyn ::polygrad::tree::Visitor<#interpreter>) {
                    match #subject { #(#visit_arms)* }
                }
            }

            #[automatically_derived]
            impl #parameters ::polygrad::tensor::Outputs<#interpreter, ::polygrad::tree::Stacked<#interpreter, Self>>
                for #name #arguments #condition_of_rows
            {
                fn stacked(
                    &self,
                    parts: &mut dyn ::core::iter::Iterator<Item = #interpreter>,
                ) -> ::polygrad::tree::Stacked<#interpreter, Self> {
                    ::polygrad::tree::Stacked::of_rows_like(self, parts)
                }
            }
        }
    }

    /// The arguments of the type of the mapped tree.
    fn mapped(&self, generics: &Generics) -> TokenStream {
        let (interpreter, other) = (&self.interpreter, &self.other);
        let arguments = generics.params.iter().map(|parameter| match parameter {
            GenericParam::Type(p) if self.is_given && p.ident == *interpreter => quote!(#other),
            GenericParam::Type(p) if self.trees.contains(&p.ident) => {
                let tree = &p.ident;
                quote!(<#tree as ::polygrad::Tree<#interpreter>>::With<#other>)
            }
            GenericParam::Type(p) => p.ident.to_token_stream(),
            GenericParam::Const(p) => p.ident.to_token_stream(),
            GenericParam::Lifetime(p) => p.lifetime.to_token_stream(),
        });
        quote!(<#(#arguments),*>)
    }

    /// The match arms of `map` and `visit` for a variant, or a struct.
    fn arms(&self, variant: &Variant<'_>) -> (TokenStream, TokenStream) {
        let (path, interpreter) = (&variant.path, &self.interpreter);
        let (mut members, mut bound, mut mapped, mut seen) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (k, field) in variant.fields.iter().enumerate() {
            let (ty, value) = (&field.ty, format_ident!("field_{k}", span = Span::mixed_site()));
            let (member, step) = match &field.ident {
                Some(name) => {
                    let text = name.unraw().to_string();
                    (name.to_token_stream(), quote!(::polygrad::tree::PathStep::Field(#text)))
                }
                None => {
                    let index = syn::Index::from(k);
                    (index.to_token_stream(), quote!(::polygrad::tree::PathStep::Item(#k)))
                }
            };
            // Errors are reported at the type of the field. Names are those of the generated code, even where a macro
            // of the user was given the type.
            let at = ty.span().resolved_at(Span::call_site());
            let (map, show) = if self.is_tree(ty) {
                let tree = quote_spanned!(at=> <#ty as ::polygrad::Tree<#interpreter>>);
                (quote_spanned!(at=> #tree::map(#value, f)), quote_spanned!(at=> #tree::visit(#value, visitor)))
            } else {
                let data = quote_spanned!(at=> visitor.plain(<#ty as ::polygrad::tree::Plain>::plain(#value)));
                (quote_spanned!(at=> <#ty as ::core::clone::Clone>::clone(#value)), data)
            };
            mapped.push(quote!(#member: #map));
            seen.push(quote! {
                visitor.enter(#step);
                #show;
                visitor.leave();
            });
            members.push(member);
            bound.push(value);
        }
        let pattern = quote!(#path { #(#members: #bound),* });
        let (enter, leave) = match variant.name {
            Some(name) => {
                let text = name.unraw().to_string();
                (quote!(visitor.enter(::polygrad::tree::PathStep::Variant(#text));), quote!(visitor.leave();))
            }
            None => (TokenStream::new(), TokenStream::new()),
        };
        (quote!(#pattern => #path { #(#mapped),* },), quote!(#pattern => { #enter #(#seen)* #leave }))
    }
}

/// A struct, or a variant of an enum.
struct Variant<'a> {
    path: TokenStream,
    name: Option<&'a Ident>,
    fields: &'a Fields,
}

impl<'a> Variant<'a> {
    fn of(of: &Ident, variant: &'a syn::Variant) -> Variant<'a> {
        let name = &variant.ident;
        Variant { path: quote!(#of::#name), name: Some(name), fields: &variant.fields }
    }
}

fn variants(input: &DeriveInput) -> Vec<Variant<'_>> {
    let ident = &input.ident;
    match &input.data {
        Data::Struct(data) => vec![Variant { path: ident.to_token_stream(), name: None, fields: &data.fields }],
        Data::Enum(data) => data.variants.iter().map(|v| Variant::of(ident, v)).collect(),
        Data::Union(_) => Vec::new(),
    }
}

fn fields(data: &Data) -> Vec<&Field> {
    match data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data.variants.iter().flat_map(|v| &v.fields).collect(),
        Data::Union(_) => Vec::new(),
    }
}

/// Whether a parameter has a bound that names this trait, in the list of parameters or in a where clause.
fn is_bounded(generics: &Generics, parameter: &TypeParam, bound: &str) -> bool {
    let is = |tokens: TokenStream| mentions(tokens, &|word| word == bound);
    is(parameter.bounds.to_token_stream()) || clauses(generics, parameter).any(is)
}

/// The bounds of a parameter in the where clause.
fn clauses<'a>(generics: &'a Generics, parameter: &'a TypeParam) -> impl Iterator<Item = TokenStream> + 'a {
    let predicates = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    predicates.filter_map(|predicate| {
        let syn::WherePredicate::Type(p) = predicate else { return None };
        is_exactly(&p.bounded_ty, &parameter.ident).then(|| p.bounds.to_token_stream())
    })
}

/// Whether a type is this parameter and nothing else.
fn is_exactly(ty: &Type, parameter: &Ident) -> bool {
    matches!(ty, Type::Path(path) if path.qself.is_none() && path.path.is_ident(parameter))
}

/// Whether a word occurs in some code.
fn mentions(tokens: TokenStream, is: &dyn Fn(&Ident) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => is(&word),
        TokenTree::Group(group) => mentions(group.stream(), is),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
