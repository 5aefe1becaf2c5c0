//! Verdicts on a value that arrives in parts: whatever is complete in it is validated once.
//!
//! A cursor reads on in an open container for one node of the plan. If the next member is open as well, it gets cursors
//! of its own, which come later in the list. What only the complete container can answer waits until it is complete.

use tokenline_core::json::{Array, Kind, Object, Value};

use super::array::ArrayRules;
use super::object::ObjectRules;
use super::run::Run;
use super::{ANY, Node, Plan, Rule};
use crate::patterns::{RecordBudget, Undecided};

/// The state of the verdict on one value.
#[derive(Default)]
pub(crate) struct OpenRun {
    /// Those of a container come after those of the containers around it.
    cursors: Vec<Cursor>,
    /// The nodes for one value that several lead to, as they begin.
    shared: Vec<u32>,
    has_begun: bool,
    outcome: Option<Outcome>,
    undecided: Option<Box<Undecided>>,
    budget: RecordBudget,
}

/// The verdict for the rest of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The value at this position on the tape is invalid.
    Invalid(u32),
    /// A pattern gave no verdict.
    Undecided,
}

struct Cursor {
    /// The position on the tape of an open container.
    container: u32,
    task: Task,
    /// The position of the first member not validated; `None` before the first.
    next: Option<u32>,
    /// How many elements come before it.
    index: usize,
    /// The bits of the members that are there.
    seen: u64,
    /// Whether the next member is open, and has cursors of its own.
    is_inside: bool,
}

#[derive(Clone, Copy)]
enum Task {
    /// The rules of the node for objects.
    Members(u32),
    /// Those for arrays.
    Elements(u32),
    /// Finds the member that selects the alternative of a union.
    Select(u32),
    /// Waits for the complete container, for a node.
    Node(u32),
    /// The same for a rule.
    Rule(Rule),
}

/// The outcome of a cursor.
enum Step {
    /// It needs more.
    Waits,
    /// Others were added.
    Added,
    /// Others took its place.
    Replaced,
    /// Its container fits.
    Fits,
    /// The value at this position does not fit.
    Invalid(u32),
}

/// How many nodes to which several lead may apply to one value in parts.
const MOST_SHARED: usize = 32;
/// How many cursors there may be before values are left until they are complete.
const MOST_CURSORS: usize = 1024;

impl OpenRun {
    /// Forgets the value.
    pub(crate) fn reset(&mut self) {
        self.cursors.clear();
        (self.has_begun, self.outcome, self.undecided) = (false, None, None);
        self.budget = RecordBudget::default();
    }

    /// Reads on in a snapshot of the value, or in the complete value. `Ok` if what is complete of it fits.
    pub(crate) fn advance(&mut self, plan: &Plan, root: Value<'_>) -> Result<(), Outcome> {
        if let Some(outcome) = self.outcome {
            return Err(outcome);
        }
        let mut run = Run::default();
        let mut budget = self.budget;
        let invalid = budget.of(|| self.read_on(plan, root, &mut run));
        self.budget = budget;
        self.outcome = invalid.map(Outcome::Invalid);
        if let Err(undecided) = run.finish(true) {
            (self.outcome, self.undecided) = (Some(Outcome::Undecided), Some(undecided));
        }
        self.outcome.map_or(Ok(()), Err)
    }

    /// The reason why there is no verdict.
    pub(crate) fn undecided(&self) -> Option<&Undecided> {
        self.undecided.as_deref()
    }

    /// The position of the first value that does not fit.
    fn read_on(&mut self, plan: &Plan, root: Value<'_>, run: &mut Run) -> Option<u32> {
        if !matches!(root.kind(), Kind::Object | Kind::Array) {
            let fits = root.is_open() || plan.fits(plan.root, root, run);
            return (!fits).then_some(position(root));
        }
        if !self.has_begun {
            self.has_begun = true;
            self.shared.clear();
            if !self.begin(plan, plan.root, root) {
                return Some(position(root));
            }
        }
        self.read_from(0, plan, root, run)
    }

    /// The same with the cursors from `first` on. Each reads once, and so do those that it adds.
    fn read_from(&mut self, first: usize, plan: &Plan, root: Value<'_>, run: &mut Run) -> Option<u32> {
        let mut at = self.cursors.len();
        while at > first {
            at -= 1;
            let added = self.cursors.len();
            let step = self.step(plan, at, root, run);
            match step {
                Step::Waits | Step::Fits => {}
                Step::Added | Step::Replaced => {
                    let invalid = self.read_from(added, plan, root, run);
                    if invalid.is_some() {
                        return invalid;
                    }
                }
                Step::Invalid(position) => return Some(position),
            }
            if matches!(step, Step::Fits | Step::Replaced) {
                self.cursors.remove(at);
            }
        }
        None
    }

    /// Begins with a node for a container, which may be open. Returns whether the container may fit.
    fn begin(&mut self, plan: &Plan, at: u32, container: Value<'_>) -> bool {
        let node = &plan.nodes[at as usize];
        if container.is_one_of(node.plain) {
            return true;
        }
        if !container.is_one_of(node.kinds) {
            return false;
        }
        if node.is_shared {
            if self.shared.contains(&at) {
                return true;
            }
            self.shared.push(at);
        }
        let is_much = self.shared.len() > MOST_SHARED || self.cursors.len() > MOST_CURSORS;
        if node.has_constants() || is_much || !reads_in_parts(plan, node) {
            self.add(container, Task::Node(at));
            return true;
        }
        if container.kind() == Kind::Object && plan.objects.get(node.object as usize).is_some() {
            self.add(container, Task::Members(node.object));
        }
        if container.kind() == Kind::Array && plan.arrays.get(node.array as usize).is_some() {
            self.add(container, Task::Elements(node.array));
        }
        plan.rules_of(node).iter().all(|rule| match *rule {
            Rule::All(node) => self.begin(plan, node, container),
            Rule::Union(at) if plan.unions[at as usize].discriminator.is_some() => {
                self.add(container, Task::Select(at));
                true
            }
            rule => {
                self.add(container, Task::Rule(rule));
                true
            }
        })
    }

    fn add(&mut self, container: Value<'_>, task: Task) {
        let container = position(container);
        self.cursors.push(Cursor { container, task, next: None, index: 0, seen: 0, is_inside: false });
    }

    fn step(&mut self, plan: &Plan, at: usize, root: Value<'_>, run: &mut Run) -> Step {
        let cursor = &self.cursors[at];
        let container = root.at_position(cursor.container);
        let whole = |fits: &mut dyn FnMut() -> bool| {
            if container.is_open() {
                Step::Waits
            } else if fits() {
                Step::Fits
            } else {
                Step::Invalid(position(container))
            }
        };
        match (cursor.task, container.as_object(), container.as_array()) {
            (Task::Members(rules), Some(object), _) => {
                self.members(plan, &plan.objects[rules as usize], at, container, object, run)
            }
            (Task::Elements(rules), _, Some(array)) => {
                self.elements(plan, &plan.arrays[rules as usize], at, container, array, run)
            }
            (Task::Select(union), Some(object), _) if container.is_open() => {
                self.select(plan, union, at, container, object)
            }
            (Task::Select(union), ..) => {
                whole(&mut || plan.union_fits(&plan.unions[union as usize], container, run))
            }
            (Task::Node(node), ..) => whole(&mut || plan.fits(node, container, run)),
            (Task::Rule(rule), ..) => whole(&mut || plan.rule_fits(rule, container, run)),
            (Task::Members(_) | Task::Elements(_), ..) => Step::Fits,
        }
    }

    fn members(
        &mut self,
        plan: &Plan,
        rules: &ObjectRules,
        at: usize,
        container: Value<'_>,
        object: Object<'_>,
        run: &mut Run,
    ) -> Step {
        let mut members = object.iter_from(self.cursors[at].next);
        loop {
            let cursor = &mut self.cursors[at];
            cursor.next = Some(members.position());
            let Some((name, member)) = members.next() else { break };
            if cursor.is_inside {
                // Its own cursors have validated it if it is complete.
                if member.is_open() {
                    return Step::Waits;
                }
                cursor.is_inside = false;
                continue;
            }
            if member.kind() == Kind::String && member.is_open() {
                return Step::Waits;
            }
            let mut seen = [cursor.seen];
            self.shared.clear();
            let fits = plan.each_node(rules, name, &mut seen, run, |node, run| {
                if member.is_open() { self.begin(plan, node, member) } else { plan.fits(node, member, run) }
            });
            if !fits {
                run.undecided_at(member);
                return Step::Invalid(position(member));
            }
            let cursor = &mut self.cursors[at];
            cursor.seen = seen[0];
            cursor.is_inside = member.is_open();
            if member.is_open() {
                return Step::Added;
            }
        }
        if container.is_open() {
            return Step::Waits;
        }
        let seen = [self.cursors[at].seen];
        let fits = !object.has_repeated_name()
            && rules.len_fits(object)
            && plan.members_fit_together(rules, object, &seen, run);
        if fits { Step::Fits } else { Step::Invalid(position(container)) }
    }

    fn elements(
        &mut self,
        plan: &Plan,
        rules: &ArrayRules,
        at: usize,
        container: Value<'_>,
        array: Array<'_>,
        run: &mut Run,
    ) -> Step {
        let mut elements = array.iter_from(self.cursors[at].next);
        loop {
            let cursor = &mut self.cursors[at];
            cursor.next = Some(elements.position());
            let Some(element) = elements.next() else { break };
            if element.is_open() && (cursor.is_inside || element.kind() == Kind::String) {
                return Step::Waits;
            }
            let is_validated = std::mem::replace(&mut cursor.is_inside, element.is_open());
            let node = *rules.first.get(cursor.index).unwrap_or(&rules.rest);
            cursor.index += usize::from(!element.is_open());
            self.shared.clear();
            let fits = is_validated
                || if element.is_open() {
                    self.begin(plan, node, element)
                } else {
                    node == ANY || plan.fits(node, element, run)
                };
            if !fits {
                return Step::Invalid(position(element));
            }
            if element.is_open() {
                return Step::Added;
            }
        }
        if container.is_open() {
            Step::Waits
        } else if rules.len_fits(array) && plan.elements_fit_together(rules, array, run) {
            Step::Fits
        } else {
            Step::Invalid(position(container))
        }
    }

    /// Looks for the member that selects the alternative in an open object.
    fn select(
        &mut self,
        plan: &Plan,
        union: u32,
        at: usize,
        container: Value<'_>,
        object: Object<'_>,
    ) -> Step {
        let Some(discriminator) = &plan.unions[union as usize].discriminator else { return Step::Waits };
        let cursor = &mut self.cursors[at];
        let mut members = object.iter_from(cursor.next);
        loop {
            cursor.next = Some(members.position());
            let Some((name, member)) = members.next() else { return Step::Waits };
            if member.is_open() {
                return Step::Waits;
            }
            if name != discriminator.name.as_str() {
                continue;
            }
            self.shared.clear();
            return match discriminator.branches_for(member) {
                Some([]) => Step::Invalid(position(member)),
                Some([branch]) if !self.begin(plan, *branch, container) => Step::Invalid(position(container)),
                Some([_]) => Step::Replaced,
                _ => {
                    self.cursors[at].task = Task::Rule(Rule::Union(union));
                    Step::Waits
                }
            };
        }
    }
}

/// Whether the members of a container can be validated before it is complete.
fn reads_in_parts(plan: &Plan, node: &Node) -> bool {
    plan.objects.get(node.object as usize).is_none_or(|rules| rules.tracked_words <= 1)
}

fn position(value: Value<'_>) -> u32 {
    value.identity().1
}
