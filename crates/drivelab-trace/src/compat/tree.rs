//! The tree that btt keeps the outstanding bios of a device in.
//!
//! Where extents overlap, a search finds one bio or another depending on the shape of the tree. So this is the
//! red-black tree of the Linux kernel in its classic form (until 2012), with its exact steps of rebalancing; a
//! map with other steps would give other numbers. Nodes live in an arena and are used again.

/// Position of a node in the arena.
pub type Place = u32;

const NOWHERE: Place = Place::MAX;
/// Children of a node.
const LEFT: usize = 0;
const RIGHT: usize = 1;

/// A time that has not come; also what btt takes for that.
pub const UNSET: u64 = u64::MAX;

/// A bio that has been queued and not completed.
#[derive(Debug, Clone, Copy)]
pub struct Outstanding {
    /// First sector.
    pub start: u64,
    /// First sector after it.
    pub end: u64,
    /// Time of Q in ns, as all that follow.
    pub queued: u64,
    /// S; 0 until then.
    pub slept: u64,
    /// G.
    pub got_request: u64,
    /// I, the last one.
    pub inserted: u64,
    /// M or F.
    pub merged: u64,
    /// D, the last one.
    pub issued: u64,
}

impl Outstanding {
    /// A bio that has just been queued.
    #[must_use]
    pub fn new(start: u64, end: u64, queued: u64) -> Self {
        let (got_request, inserted, merged, issued) = (UNSET, UNSET, UNSET, UNSET);
        Self { start, end, queued, slept: 0, got_request, inserted, merged, issued }
    }
}

#[derive(Debug, Clone)]
struct Node {
    bio: Outstanding,
    children: [Place; 2],
    parent: Place,
    is_red: bool,
}

/// Outstanding bios of one device by their first sector.
#[derive(Debug, Clone)]
pub struct Tree {
    nodes: Vec<Node>,
    unused: Vec<Place>,
    root: Place,
}

impl Default for Tree {
    fn default() -> Self {
        Self { nodes: Vec::new(), unused: Vec::new(), root: NOWHERE }
    }
}

impl Tree {
    /// Number of bios in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len() - self.unused.len()
    }

    /// A bio in the tree.
    #[must_use]
    pub fn bio(&self, place: Place) -> &Outstanding {
        &self.nodes[place as usize].bio
    }

    /// The bio that the search for a sector finds: not always the only one that holds it.
    pub fn find(&mut self, sector: u64) -> Option<&mut Outstanding> {
        let mut place = self.root;
        while place != NOWHERE {
            let node = &self.nodes[place as usize];
            if sector < node.bio.start {
                place = node.children[LEFT];
            } else if sector >= node.bio.end {
                place = node.children[RIGHT];
            } else {
                return Some(&mut self.nodes[place as usize].bio);
            }
        }
        None
    }

    /// A bio that is known to be in the tree.
    pub fn bio_mut(&mut self, place: Place) -> &mut Outstanding {
        &mut self.nodes[place as usize].bio
    }

    /// Adds to `found` the bios that lie wholly in [start, end), as far as the search of btt comes to them.
    pub fn find_inside(&self, start: u64, end: u64, found: &mut Vec<Place>) {
        self.find_inside_below(self.root, start, end, found);
    }

    fn find_inside_below(&self, place: Place, start: u64, end: u64, found: &mut Vec<Place>) {
        let Some(node) = self.nodes.get(place as usize) else { return };
        if start <= node.bio.start && node.bio.end <= end {
            found.push(place);
        }
        if start < node.bio.start {
            self.find_inside_below(node.children[LEFT], start, end, found);
        }
        if node.bio.end < end {
            self.find_inside_below(node.children[RIGHT], start, end, found);
        }
    }

    /// Adds a bio; where one begins at the same sector already, `replaces` says whether it takes its place.
    ///
    /// Returns whether the bio is in the tree now.
    pub fn insert(&mut self, bio: Outstanding, replaces: bool) -> bool {
        let (mut parent, mut side, mut place) = (NOWHERE, LEFT, self.root);
        while place != NOWHERE {
            let node = &mut self.nodes[place as usize];
            if bio.start == node.bio.start {
                if replaces {
                    node.bio = bio;
                }
                return replaces;
            }
            parent = place;
            side = if bio.start < node.bio.start { LEFT } else { RIGHT };
            place = node.children[side];
        }
        let new = self.new_node(bio, parent);
        if parent == NOWHERE {
            self.root = new;
        } else {
            self.nodes[parent as usize].children[side] = new;
        }
        self.rebalance_after_insert(new);
        true
    }

    fn new_node(&mut self, bio: Outstanding, parent: Place) -> Place {
        let node = Node { bio, children: [NOWHERE; 2], parent, is_red: true };
        if let Some(place) = self.unused.pop() {
            self.nodes[place as usize] = node;
            return place;
        }
        self.nodes.push(node);
        (self.nodes.len() - 1) as Place
    }

    fn rebalance_after_insert(&mut self, mut place: Place) {
        loop {
            let mut parent = self.parent(place);
            if !self.is_red(parent) {
                break;
            }
            // a red node has a parent
            let grandparent = self.parent(parent);
            let side = self.side_of(parent, grandparent);
            let uncle = self.child(grandparent, 1 - side);
            if self.is_red(uncle) {
                self.set_red(uncle, false);
                self.set_red(parent, false);
                self.set_red(grandparent, true);
                place = grandparent;
                continue;
            }
            if self.child(parent, 1 - side) == place {
                self.rotate(parent, side);
                (parent, place) = (place, parent);
            }
            self.set_red(parent, false);
            self.set_red(grandparent, true);
            self.rotate(grandparent, 1 - side);
        }
        self.set_red(self.root, false);
    }

    /// Takes a bio out of the tree.
    pub fn remove(&mut self, place: Place) {
        let Node { children: [left, right], parent, is_red, .. } = self.nodes[place as usize];
        let (child, below, was_red) = if left == NOWHERE || right == NOWHERE {
            let child = if left == NOWHERE { right } else { left };
            self.link(parent, place, child);
            (child, parent, is_red)
        } else {
            self.put_successor_for(place)
        };
        if !was_red {
            self.rebalance_after_removal(child, below);
        }
        self.unused.push(place);
    }

    /// Puts the next bio where one with two children was; returns what took that one's place, its parent, and
    /// whether the place that was given up was red.
    fn put_successor_for(&mut self, place: Place) -> (Place, Place, bool) {
        let Node { children: [left, right], parent, is_red, .. } = self.nodes[place as usize];
        let mut successor = right;
        while self.child(successor, LEFT) != NOWHERE {
            successor = self.child(successor, LEFT);
        }
        let child = self.child(successor, RIGHT);
        let was_red = self.is_red(successor);
        let mut below = self.parent(successor);
        if below == place {
            below = successor;
        } else {
            self.link(below, successor, child);
            self.set_child(successor, RIGHT, right);
        }
        self.set_child(successor, LEFT, left);
        self.link(parent, place, successor);
        self.set_red(successor, is_red);
        (child, below, was_red)
    }

    fn rebalance_after_removal(&mut self, mut place: Place, mut parent: Place) {
        while !self.is_red(place) && place != self.root {
            let side = if self.child(parent, LEFT) == place { LEFT } else { RIGHT };
            let mut other = self.child(parent, 1 - side);
            if self.is_red(other) {
                self.set_red(other, false);
                self.set_red(parent, true);
                self.rotate(parent, side);
                other = self.child(parent, 1 - side);
            }
            let (near, far) = (self.child(other, side), self.child(other, 1 - side));
            if !self.is_red(near) && !self.is_red(far) {
                self.set_red(other, true);
                place = parent;
                parent = self.parent(place);
                continue;
            }
            if !self.is_red(far) {
                self.set_red(near, false);
                self.set_red(other, true);
                self.rotate(other, 1 - side);
                other = self.child(parent, 1 - side);
            }
            self.set_red(other, self.is_red(parent));
            self.set_red(parent, false);
            self.set_red(self.child(other, 1 - side), false);
            self.rotate(parent, side);
            place = self.root;
            break;
        }
        self.set_red(place, false);
    }

    /// Turns a node down to `side`; its other child comes up.
    fn rotate(&mut self, place: Place, side: usize) {
        let rising = self.child(place, 1 - side);
        let (moved, parent) = (self.child(rising, side), self.parent(place));
        self.set_child(place, 1 - side, moved);
        self.link(parent, place, rising);
        self.set_child(rising, side, place);
    }

    /// Lets `new` (or nothing) hang where `old` hangs.
    fn link(&mut self, parent: Place, old: Place, new: Place) {
        if parent == NOWHERE {
            self.root = new;
        } else {
            let side = self.side_of(old, parent);
            self.nodes[parent as usize].children[side] = new;
        }
        if new != NOWHERE {
            self.nodes[new as usize].parent = parent;
        }
    }

    fn set_child(&mut self, place: Place, side: usize, child: Place) {
        self.nodes[place as usize].children[side] = child;
        if child != NOWHERE {
            self.nodes[child as usize].parent = place;
        }
    }

    fn side_of(&self, place: Place, parent: Place) -> usize {
        if self.child(parent, LEFT) == place { LEFT } else { RIGHT }
    }

    fn child(&self, place: Place, side: usize) -> Place {
        self.nodes[place as usize].children[side]
    }

    fn parent(&self, place: Place) -> Place {
        self.nodes[place as usize].parent
    }

    fn is_red(&self, place: Place) -> bool {
        place != NOWHERE && self.nodes[place as usize].is_red
    }

    fn set_red(&mut self, place: Place, is_red: bool) {
        if place != NOWHERE {
            self.nodes[place as usize].is_red = is_red;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    impl Tree {
        /// Black nodes on every way down, after checking the rules of a red-black tree.
        fn black_height(&self, place: Place, parent: Place) -> usize {
            if place == NOWHERE {
                return 0;
            }
            assert_eq!(self.parent(place), parent);
            let [left, right] = self.nodes[place as usize].children;
            if self.is_red(place) {
                assert!(!self.is_red(left) && !self.is_red(right), "a red node below a red one");
            }
            let start = self.bio(place).start;
            assert!(left == NOWHERE || self.bio(left).start < start);
            assert!(right == NOWHERE || self.bio(right).start > start);
            let height = self.black_height(left, place);
            assert_eq!(height, self.black_height(right, place), "ways of different black height");
            height + usize::from(!self.is_red(place))
        }
    }

    #[test]
    fn the_newest_bio_at_a_sector_is_kept_or_refused() {
        for replaces in [true, false] {
            let mut tree = Tree::default();
            assert!(tree.insert(Outstanding::new(8, 16, 1), replaces));
            assert_eq!(tree.insert(Outstanding::new(8, 24, 2), replaces), replaces);
            assert_eq!(tree.find(8).unwrap().queued, if replaces { 2 } else { 1 });
            assert_eq!(tree.find(20).is_some(), replaces);
            assert_eq!(tree.len(), 1);
        }
    }

    proptest! {
        #[test]
        fn disjoint_bios_are_found_as_in_any_ordered_map(
            steps in prop::collection::vec((0_u64..64, any::<bool>()), 1..400),
        ) {
            let (mut tree, mut oracle) = (Tree::default(), BTreeMap::new());
            for (time, (slot, is_insert)) in steps.into_iter().enumerate() {
                let start = slot * 8;
                let mut found = Vec::new();
                tree.find_inside(start, start + 8, &mut found);
                prop_assert_eq!(found.len(), usize::from(oracle.contains_key(&start)));
                if is_insert {
                    tree.insert(Outstanding::new(start, start + 8, time as u64), true);
                    oracle.insert(start, time as u64);
                } else if let Some(place) = found.first() {
                    tree.remove(*place);
                    oracle.remove(&start);
                }
                prop_assert_eq!(tree.len(), oracle.len());
                prop_assert!(!tree.is_red(tree.root));
                tree.black_height(tree.root, NOWHERE);
            }
            for slot in 0..64 {
                let expected = oracle.get(&(slot * 8)).copied();
                prop_assert_eq!(tree.find(slot * 8 + 7).map(|bio| bio.queued), expected);
            }
            // all of them, the parent before its children
            let mut found = Vec::new();
            tree.find_inside(0, 64 * 8, &mut found);
            let mut starts: Vec<u64> = found.iter().map(|place| tree.bio(*place).start).collect();
            starts.sort_unstable();
            prop_assert_eq!(starts, oracle.into_keys().collect::<Vec<_>>());
        }
    }
}
