//! The tree of a page: nodes in one list, linked by their positions, so that no page makes an
//! operation on it slow or deep.

use std::borrow::Cow;
use std::cell::{Ref, RefCell};

use html5ever::interface::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink as _};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, LocalName, Namespace, ParseOpts, QualName, parse_document};

/// The most nodes of a tree. What follows is left out.
pub(crate) const MAX_NODES: usize = 300_000;

/// The most elements within each other. What follows is left out: with more, a parser by the
/// standard takes a time that grows with the square.
pub(crate) const MAX_DEPTH: usize = 2_000;

/// The bytes after which the bounds are checked.
const CHUNK_BYTES: usize = 4 * 1024;

/// The position of a node.
pub(crate) type Id = usize;

/// The content of a node.
#[derive(Debug)]
pub(crate) enum Data {
    Document,
    Text(String),
    Element {
        name: QualName,
        attributes: Vec<Attribute>,
    },
    /// A comment or another part that is not shown.
    Other,
}

#[derive(Debug)]
struct Node {
    data: Data,
    parent: Option<Id>,
    previous: Option<Id>,
    next: Option<Id>,
    first: Option<Id>,
    last: Option<Id>,
    /// The document that a `<template>` holds apart.
    template: Option<Id>,
    /// The number of elements around it when it was added.
    depth: usize,
}

/// A parsed page.
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// True if the page was beyond the bounds, and its rest was left out.
    pub(crate) cut: bool,
}

impl Tree {
    pub(crate) fn parse(html: &str) -> Self {
        let options = ParseOpts {
            tree_builder: TreeBuilderOpts {
                // Without scripts, `<noscript>` is a part of the tree that can be left out.
                scripting_enabled: false,
                drop_doctype: true,
                ..TreeBuilderOpts::default()
            },
            ..ParseOpts::default()
        };
        let mut parser = parse_document(Sink::new(), options);
        let (mut rest, mut cut) = (html, false);
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(rest.ceil_char_boundary(CHUNK_BYTES));
            parser.process(StrTendril::from(chunk));
            rest = after;
            let sink = &parser.tokenizer.sink.sink;
            if sink.is_full() && !rest.is_empty() {
                cut = true;
                break;
            }
        }
        let nodes = parser.finish();
        Self { nodes, cut }
    }

    pub(crate) fn data(&self, id: Id) -> &Data {
        self.nodes.get(id).map_or(&Data::Other, |node| &node.data)
    }

    pub(crate) fn first(&self, id: Id) -> Option<Id> {
        self.nodes.get(id)?.first
    }

    pub(crate) fn next(&self, id: Id) -> Option<Id> {
        self.nodes.get(id)?.next
    }

    pub(crate) fn parent(&self, id: Id) -> Option<Id> {
        self.nodes.get(id)?.parent
    }

    /// The node after this one and all in it, in the order of the page, within `root`.
    pub(crate) fn after(&self, id: Id, root: Id) -> Option<Id> {
        let mut at = id;
        while at != root {
            if let Some(next) = self.next(at) {
                return Some(next);
            }
            at = self.parent(at)?;
        }
        None
    }

    /// The nodes within `root`, in the order of the page.
    pub(crate) fn within(&self, root: Id) -> impl Iterator<Item = Id> + '_ {
        let mut at = self.first(root);
        std::iter::from_fn(move || {
            let id = at?;
            at = self.first(id).or_else(|| self.after(id, root));
            Some(id)
        })
    }

    /// The name of an HTML element; empty for any other node.
    pub(crate) fn name(&self, id: Id) -> &str {
        match self.data(id) {
            Data::Element { name, .. } => &name.local,
            Data::Document | Data::Text(_) | Data::Other => "",
        }
    }

    pub(crate) fn attribute(&self, id: Id, name: &str) -> Option<&str> {
        let Data::Element { attributes, .. } = self.data(id) else {
            return None;
        };
        let found = attributes
            .iter()
            .find(|attribute| &*attribute.name.local == name);
        found.map(|attribute| &*attribute.value)
    }
}

/// The receiver of what the parser finds.
struct Sink {
    nodes: RefCell<Vec<Node>>,
    deepest: RefCell<usize>,
}

impl Sink {
    fn new() -> Self {
        let sink = Self {
            nodes: RefCell::new(Vec::new()),
            deepest: RefCell::new(0),
        };
        sink.add(Data::Document);
        sink
    }

    fn is_full(&self) -> bool {
        self.nodes.borrow().len() > MAX_NODES || *self.deepest.borrow() > MAX_DEPTH
    }

    fn add(&self, data: Data) -> Id {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node {
            data,
            parent: None,
            previous: None,
            next: None,
            first: None,
            last: None,
            template: None,
            depth: 0,
        });
        nodes.len() - 1
    }

    /// Changes a node. All positions are of nodes, since none is ever removed from the list.
    fn with<T>(&self, id: Id, change: impl FnOnce(&mut Node) -> T) -> Option<T> {
        self.nodes.borrow_mut().get_mut(id).map(change)
    }

    /// Puts a node without a parent at the end of `parent`, or before `sibling` in it.
    fn link(&self, id: Id, parent: Id, sibling: Option<Id>) {
        let depth = self.with(parent, |node| node.depth + 1).unwrap_or(0);
        let deepest = (*self.deepest.borrow()).max(depth);
        *self.deepest.borrow_mut() = deepest;
        let previous = match sibling {
            Some(sibling) => self
                .with(sibling, |node| node.previous.replace(id))
                .flatten(),
            None => self.with(parent, |node| node.last.replace(id)).flatten(),
        };
        match previous {
            Some(previous) => drop(self.with(previous, |node| node.next = Some(id))),
            None => drop(self.with(parent, |node| node.first = Some(id))),
        }
        self.with(id, |node| {
            node.parent = Some(parent);
            node.previous = previous;
            node.next = sibling;
            node.depth = depth;
        });
    }

    fn unlink(&self, id: Id) {
        let Some((Some(parent), previous, next)) = self.with(id, |node| {
            (node.parent.take(), node.previous.take(), node.next.take())
        }) else {
            return;
        };
        match previous {
            Some(previous) => drop(self.with(previous, |node| node.next = next)),
            None => drop(self.with(parent, |node| node.first = next)),
        }
        match next {
            Some(next) => drop(self.with(next, |node| node.previous = previous)),
            None => drop(self.with(parent, |node| node.last = previous)),
        }
    }

    /// Puts a node or text at the end of `parent`, or before `sibling` in it.
    fn put(&self, child: NodeOrText<Id>, parent: Id, sibling: Option<Id>) {
        match child {
            NodeOrText::AppendNode(id) => {
                self.unlink(id);
                self.link(id, parent, sibling);
            }
            NodeOrText::AppendText(text) => {
                let before = match sibling {
                    Some(sibling) => self.with(sibling, |node| node.previous),
                    None => self.with(parent, |node| node.last),
                };
                let joined = before.flatten().and_then(|before| {
                    self.with(before, |node| match &mut node.data {
                        Data::Text(existing) => {
                            existing.push_str(&text);
                            true
                        }
                        Data::Document | Data::Element { .. } | Data::Other => false,
                    })
                });
                if joined != Some(true) {
                    let id = self.add(Data::Text(text.to_string()));
                    self.link(id, parent, sibling);
                }
            }
        }
    }
}

/// The name of an element while the list is borrowed.
#[derive(Debug)]
struct Name<'a>(Ref<'a, Node>);

impl Name<'_> {
    /// The parser asks for names of elements only.
    fn name(&self) -> Option<&QualName> {
        match &self.0.data {
            Data::Element { name, .. } => Some(name),
            Data::Document | Data::Text(_) | Data::Other => None,
        }
    }
}

/// The names of what is no element.
static NO_NAMESPACE: Namespace = html5ever::ns!();
static NO_NAME: LocalName = html5ever::local_name!("");

impl ElemName for Name<'_> {
    fn ns(&self) -> &Namespace {
        self.name().map_or(&NO_NAMESPACE, |name| &name.ns)
    }

    fn local_name(&self) -> &LocalName {
        self.name().map_or(&NO_NAME, |name| &name.local)
    }
}

impl TreeSink for Sink {
    type Handle = Id;
    type Output = Vec<Node>;
    type ElemName<'a> = Name<'a>;

    fn finish(self) -> Vec<Node> {
        self.nodes.into_inner()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Id {
        0
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "handles are positions that were given out"
    )]
    fn elem_name<'a>(&'a self, target: &'a Id) -> Name<'a> {
        Name(Ref::map(self.nodes.borrow(), |nodes| &nodes[*target]))
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Id {
        let id = self.add(Data::Element { name, attributes });
        if flags.template {
            let template = self.add(Data::Document);
            self.with(id, |node| node.template = Some(template));
        }
        id
    }

    fn create_comment(&self, _: StrTendril) -> Id {
        self.add(Data::Other)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Id {
        self.add(Data::Other)
    }

    fn append(&self, parent: &Id, child: NodeOrText<Id>) {
        self.put(child, *parent, None);
    }

    fn append_before_sibling(&self, sibling: &Id, child: NodeOrText<Id>) {
        if let Some(parent) = self.with(*sibling, |node| node.parent).flatten() {
            self.put(child, parent, Some(*sibling));
        }
    }

    fn append_based_on_parent_node(&self, element: &Id, previous: &Id, child: NodeOrText<Id>) {
        match self.with(*element, |node| node.parent).flatten() {
            Some(parent) => self.put(child, parent, Some(*element)),
            None => self.put(child, *previous, None),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &Id) -> Id {
        self.with(*target, |node| node.template)
            .flatten()
            .unwrap_or(0)
    }

    fn same_node(&self, one: &Id, other: &Id) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn add_attrs_if_missing(&self, target: &Id, more: Vec<Attribute>) {
        self.with(*target, |node| {
            if let Data::Element { attributes, .. } = &mut node.data {
                for attribute in more {
                    if !attributes.iter().any(|other| other.name == attribute.name) {
                        attributes.push(attribute);
                    }
                }
            }
        });
    }

    fn remove_from_parent(&self, target: &Id) {
        self.unlink(*target);
    }

    fn reparent_children(&self, node: &Id, new_parent: &Id) {
        while let Some(child) = self.with(*node, |node| node.first).flatten() {
            self.unlink(child);
            self.link(child, *new_parent, None);
        }
    }
}
