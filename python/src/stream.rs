//! Iterators over a source: a stream of Python's, and the machine under an asynchronous one.

use pyo3::exceptions::{PyBaseException, PyException, PyRuntimeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::adapter::SourceEnd;

use crate::bytes::{bytes_of, with_bytes};
use crate::hint::{Hint, Outcome, SourceWatch};
use crate::machine::{Machine, Question, answer_of};
use crate::parser::machine;
use crate::report::Report;
use crate::shared::{Guard, Shared, Traverse};

const ENDED_BY_INTERRUPT: &str = "the source ended when it was interrupted: the rest of it is missing";

pub(crate) struct State {
    machine: Box<dyn Machine>,
    watch: SourceWatch,
    /// Rejects are only counted.
    is_silent: bool,
    /// The source was read to its end.
    was_read: bool,
    /// `None` once it has ended.
    source: Option<Source>,
    /// Turns other chunks than bytes and str into bytes, or raises.
    convert: Py<PyAny>,
    /// The chunk that was being read when the user interrupted it.
    unread: Option<Py<PyAny>>,
    /// The source's exception, until it is raised.
    failure: Option<Py<PyBaseException>>,
    /// An interrupt passed through the source. A generator is over then, whatever it still had.
    was_interrupted: bool,
    /// Nothing is yielded any more.
    is_over: bool,
    /// The function that is asked for what was rejected.
    reask: Option<Py<PyAny>>,
    /// Questions left open by interrupts, with their answers if there are any.
    open: Vec<(Py<Question>, Option<Py<PyAny>>)>,
}

/// Where the chunks come from.
pub(crate) enum Source {
    Iterator(Py<PyIterator>),
    /// One chunk, until it is read.
    Chunk(Option<Py<PyAny>>),
}

impl Source {
    fn next<'py>(&mut self, py: Python<'py>) -> Option<PyResult<Bound<'py, PyAny>>> {
        match self {
            Self::Iterator(source) => source.bind(py).clone().next(),
            Self::Chunk(chunk) => chunk.take().map(|chunk| Ok(chunk.into_bound(py))),
        }
    }
}

impl Traverse for State {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.machine.traverse(visit)?;
        visit.call(&self.unread)?;
        if let Some(Source::Iterator(source)) = &self.source {
            visit.call(source)?;
        }
        visit.call(&self.convert)?;
        visit.call(&self.reask)?;
        for (_, answer) in &self.open {
            visit.call(answer)?;
        }
        visit.call(&self.failure)
    }

    fn clear(&mut self) {
        self.stop();
    }
}

impl State {
    /// Ends here. Returns the source, to be closed.
    fn stop(&mut self) -> Option<Source> {
        (self.is_over, self.failure) = (true, None);
        self.source.take()
    }

    /// Adds a chunk of the source. If the user interrupts that, keeps the chunk for the next time.
    fn push(&mut self, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        self.read_unread(chunk.py())?;
        let hint = self.read_chunk(chunk).inspect_err(|error| {
            if !error.is_instance_of::<PyException>(chunk.py()) {
                self.unread = Some(chunk.clone().unbind());
            }
        })?;
        // The chunk is read, whatever becomes of the warning.
        hint.map_or(Ok(()), |hint| hint.warn(chunk.py()))
    }

    fn read_unread(&mut self, py: Python<'_>) -> PyResult<()> {
        match self.unread.take() {
            Some(chunk) => self.push(chunk.bind(py)),
            None => Ok(()),
        }
    }

    fn read_chunk(&mut self, chunk: &Bound<'_, PyAny>) -> PyResult<Option<Hint>> {
        let py = chunk.py();
        let Self { machine, watch, .. } = self;
        let decided = if watch.has_deferred() { watch.decide(machine.tally(py).report()) } else { None };
        let push = |bytes: &[u8]| {
            machine.push(py, bytes);
            watch.push(bytes)
        };
        if let Some(hint) = with_bytes(chunk, push)? {
            return Ok(decided.or(hint));
        }
        let event = self.convert.bind(py).call1((chunk,))?;
        let kind = if self.watch.wants_event() { kind_of(chunk)? } else { None };
        let Self { machine, watch, .. } = self;
        bytes_of("stream", &event, |bytes| {
            machine.push(py, bytes);
            if watch.wants_event() {
                watch.push_event(kind.as_deref(), bytes);
            }
        })?;
        Ok(None)
    }

    /// Takes the next chunk from the source.
    fn read(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        if self.machine.expects_nothing() {
            let source = self.source.take();
            self.end(SourceEnd::Clean);
            return close(py, source);
        }
        match source.next(py) {
            Some(Ok(chunk)) => {
                self.was_interrupted = false;
                self.push(&chunk)
            }
            None if self.was_interrupted && !self.machine.is_terminated() => {
                self.end(SourceEnd::Failed);
                self.failure = Some(PyRuntimeError::new_err(ENDED_BY_INTERRUPT).into_value(py));
                Ok(())
            }
            None => {
                self.end(SourceEnd::Clean);
                Ok(())
            }
            // Such as an interrupt from the keyboard: not the source's.
            Some(Err(error)) if !error.is_instance_of::<PyException>(py) => {
                self.was_interrupted = true;
                Err(error)
            }
            Some(Err(_)) if self.machine.is_terminated() => {
                self.end(SourceEnd::Clean);
                Ok(())
            }
            Some(Err(error)) => {
                self.end(SourceEnd::Failed);
                self.failure = Some(error.into_value(py));
                Ok(())
            }
        }
    }

    fn end(&mut self, end: SourceEnd) {
        self.machine.finish(end);
        self.source = None;
        self.was_read = end == SourceEnd::Clean;
    }

    /// Warns, after the last object, if the source was not what it seems.
    fn warn_at_end(&mut self, py: Python<'_>) -> PyResult<()> {
        // The counts are made only if they are needed.
        if !std::mem::take(&mut self.was_read) || self.watch.is_done() {
            return Ok(());
        }
        let Self { machine, watch, is_silent, .. } = self;
        let progress = machine.progress();
        let report = machine.tally(py).report();
        let hint = watch.end(Outcome { report, progress, is_silent: *is_silent });
        hint.map_or(Ok(()), |hint| hint.warn(py))
    }

    /// The next object of what was read. Before an exception about it, warns of what waits for that.
    fn take(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let Self { machine, watch, .. } = self;
        machine.next(py).or_else(|error| {
            if watch.has_deferred()
                && error.is_instance_of::<PyException>(py)
                && let Some(hint) = watch.decide(machine.tally(py).report())
            {
                hint.warn(py)?;
            }
            Err(error)
        })
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        loop {
            if let Some(object) = self.take(py)? {
                return Ok(Some(object));
            }
            if self.unread.is_some() {
                self.read_unread(py)?;
                continue;
            }
            if self.source.is_none() {
                self.warn_at_end(py)?;
                let failure = self.failure.take();
                return failure
                    .map_or(Ok(None), |error| Err(PyErr::from_value(error.into_bound(py).into_any())));
            }
            self.read(py)?;
        }
    }
}

fn watch(provider: Option<&Bound<'_, PyAny>>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<SourceWatch> {
    let provider = provider.map(crate::parser::provider).transpose()?;
    let mut has_rules = false;
    for name in ["schema", "model"] {
        let rules = settings.map(|settings| settings.get_item(name)).transpose()?.flatten();
        has_rules |= rules.is_some_and(|rules| !rules.is_none());
    }
    Ok(SourceWatch::new(provider, has_rules))
}

/// The type of an SDK's event, if it is one word.
fn kind_of(event: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let name = intern!(event.py(), "type");
    let kind = match event.cast::<PyDict>() {
        Ok(event) => event.get_item(name)?,
        Err(_) => event.getattr_opt(name)?,
    };
    let Some(Ok(kind)) = kind.map(|kind| kind.extract::<String>()) else { return Ok(None) };
    let is_word = kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    Ok(Some(kind).filter(|_| is_word))
}

/// Whether one chunk may be the name of a file or an address. Most are texts with records, at no cost.
fn may_be_name(chunk: &Bound<'_, PyAny>) -> PyResult<bool> {
    match chunk.cast::<PyBytes>() {
        Ok(bytes) => Ok(!bytes.as_bytes().contains(&b'{')),
        Err(_) => Ok(!chunk.contains(intern!(chunk.py(), "{"))?),
    }
}

/// Warns of one chunk that is the name of a file or an address. Returns whether it is.
fn warn_of_name(chunk: &Bound<'_, PyAny>) -> PyResult<bool> {
    let module = chunk.py().import(intern!(chunk.py(), "tokenline._warnings"))?;
    module.call_method1(intern!(chunk.py(), "warn_of_name"), (chunk,))?.extract()
}

/// An iterator over what a source's bytes hold.
#[pyclass(frozen, module = "tokenline", generic)]
pub(crate) struct Stream(Shared<State>);

#[pymethods]
impl Stream {
    /// `kind` is `records`, `responses` or `tool_calls`, `source` an iterable of chunks, or one chunk as a str or bytes.
    #[new]
    #[pyo3(signature = (kind, source, provider, convert, settings))]
    fn py_new(
        kind: &str,
        source: &Bound<'_, PyAny>,
        provider: Option<&Bound<'_, PyAny>>,
        convert: Py<PyAny>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let machine = machine(kind, provider, settings)?;
        let is_chunk = source.is_exact_instance_of::<PyString>() || source.is_exact_instance_of::<PyBytes>();
        let mut watch = watch(provider, settings)?;
        if is_chunk && may_be_name(source)? && warn_of_name(source)? {
            watch.silence();
        }
        let source = if is_chunk {
            Source::Chunk(Some(source.clone().unbind()))
        } else {
            Source::Iterator(source.try_iter()?.unbind())
        };
        let source = Some(source);
        let reask = settings.map(|settings| settings.get_item("reask")).transpose()?.flatten();
        Ok(Self(Shared::new(State {
            machine,
            watch,
            is_silent: kind != "responses",
            was_read: false,
            source,
            convert,
            unread: None,
            failure: None,
            was_interrupted: false,
            is_over: false,
            reask: reask.filter(|reask| !reask.is_none()).map(Bound::unbind),
            open: Vec::new(),
        })))
    }

    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<Report> {
        Ok(self.0.lock(py)?.machine.report(py))
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        crate::report::html(slf.as_any(), "stream")
    }

    /// Ends here, and closes the source if it can be closed.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.0.lock(py)?;
        for (question, _) in std::mem::take(&mut state.open) {
            // The reject is final.
            let _ = state.machine.answer(py, question.get(), None);
        }
        let source = state.stop();
        drop(state);
        close(py, source)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let mut state = self.0.lock(py)?;
        if state.is_over {
            return Ok(None);
        }
        if state.reask.is_some() {
            return self.next_asking(py, state);
        }
        state.next(py).map_err(|error| fail(py, state, error))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }

    fn __clear__(&self) {
        self.0.clear();
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        let _ = exception;
        self.close(py)
    }
}

impl Stream {
    /// The next object of a stream that asks for what is rejected. The function may use the stream.
    fn next_asking<'a>(&'a self, py: Python<'_>, mut state: Guard<'a, State>) -> PyResult<Option<Py<PyAny>>> {
        while !state.is_over {
            let (question, answer) = match state.open.pop() {
                Some(open) => open,
                None => match state.next(py) {
                    Ok(Some(object)) => match object.cast_bound::<Question>(py) {
                        Ok(question) => (question.clone().unbind(), None),
                        Err(_) => return Ok(Some(object)),
                    },
                    Ok(None) => return Ok(None),
                    Err(error) => return Err(fail(py, state, error)),
                },
            };
            let answer = match answer {
                Some(answer) => answer,
                None => {
                    let Some(reask) = state.reask.as_ref().map(|reask| reask.clone_ref(py)) else { break };
                    drop(state);
                    let answer = question.get().ask(py, reask.bind(py));
                    state = self.0.lock(py)?;
                    match answer {
                        Ok(answer) => answer,
                        Err(error) => {
                            if error.is_instance_of::<PyException>(py) {
                                // The reject is final.
                                let _ = state.machine.answer(py, question.get(), None);
                            } else {
                                state.open.push((question, None));
                            }
                            return Err(fail(py, state, error));
                        }
                    }
                }
            };
            let text = answer_of(answer.bind(py))?.filter(|_| !state.is_over);
            let rejected = state.machine.tally(py).report().rejected();
            match state.machine.answer(py, question.get(), text) {
                Ok(Some(object)) => match object.cast_bound::<Question>(py) {
                    Ok(again) => state.open.push((again.clone().unbind(), None)),
                    Err(_) => return Ok(Some(object)),
                },
                Ok(None) => {}
                Err(error) => {
                    if !error.is_instance_of::<PyException>(py) {
                        state.open.push((question, Some(answer)));
                    } else if state.machine.tally(py).report().rejected() == rejected {
                        // A validator has failed: the reject is final.
                        let _ = state.machine.answer(py, question.get(), None);
                    }
                    return Err(fail(py, state, error));
                }
            }
        }
        Ok(None)
    }
}

/// Ends a stream at an error, unless it is an interrupt.
fn fail(py: Python<'_>, mut state: Guard<'_, State>, error: PyErr) -> PyErr {
    let source = if error.is_instance_of::<PyException>(py) { state.stop() } else { None };
    drop(state);
    match close(py, source) {
        Err(failure) => {
            let set = error.value(py).setattr(intern!(py, "__context__"), failure.into_value(py));
            set.err().unwrap_or(error)
        }
        Ok(()) => error,
    }
}

fn close(py: Python<'_>, source: Option<Source>) -> PyResult<()> {
    let Some(Source::Iterator(source)) = source else { return Ok(()) };
    match source.bind(py).getattr_opt(intern!(py, "close"))? {
        Some(close) => close.call0().map(|_| ()),
        None => Ok(()),
    }
}

/// The machine under an asynchronous stream, which reads the source itself.
#[pyclass(frozen, module = "tokenline._tokenline", generic)]
pub(crate) struct Machinery(Shared<State>);

#[pymethods]
impl Machinery {
    #[new]
    #[pyo3(signature = (kind, provider, convert, settings))]
    fn py_new(
        kind: &str,
        provider: Option<&Bound<'_, PyAny>>,
        convert: Py<PyAny>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (machine, watch) = (machine(kind, provider, settings)?, watch(provider, settings)?);
        Ok(Self(Shared::new(State {
            machine,
            watch,
            is_silent: kind != "responses",
            was_read: false,
            source: None,
            convert,
            unread: None,
            failure: None,
            was_interrupted: false,
            is_over: false,
            reask: None,
            open: Vec::new(),
        })))
    }

    fn push(&self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.lock(py)?.push(chunk)
    }

    /// Warns of one chunk that is the name of a file or an address, and of nothing after it.
    fn warn_of_name(&self, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        if may_be_name(chunk)? && warn_of_name(chunk)? {
            self.0.lock(chunk.py())?.watch.silence();
        }
        Ok(())
    }

    /// Ends the input. `failed` if the source raised an exception.
    fn finish(&self, py: Python<'_>, failed: bool) -> PyResult<()> {
        let end = if failed { SourceEnd::Failed } else { SourceEnd::Clean };
        let mut state = self.0.lock(py)?;
        state.read_unread(py)?;
        state.end(end);
        Ok(())
    }

    /// Takes the answer to a question that was yielded. The list has what takes the place of the reject, if anything does.
    fn answer(&self, question: &Bound<'_, Question>, answer: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyAny>>> {
        let (py, answer) = (question.py(), answer_of(answer)?);
        let answered = self.0.lock(py)?.machine.answer(py, question.get(), answer)?;
        Ok(answered.into_iter().collect())
    }

    /// Whether the input contained its own end, so that a source that fails after it loses no data.
    fn is_terminated(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.0.lock(py)?.machine.is_terminated())
    }

    /// Whether nothing can follow, so that the source need not be read on.
    fn expects_nothing(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.0.lock(py)?.machine.expects_nothing())
    }

    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<Report> {
        Ok(self.0.lock(py)?.machine.report(py))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let mut state = self.0.lock(py)?;
        let next = state.take(py)?;
        if next.is_none() {
            state.warn_at_end(py)?;
        }
        Ok(next)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }

    fn __clear__(&self) {
        self.0.clear();
    }
}
