//! The events of a response beside records and calls.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::events::{repr, restored_from};

macro_rules! part {
    ($(#[$doc:meta])* $name:ident { $($member:ident: $kind:ty),+ } $names:ty) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "tokenline", eq, hash)]
        #[derive(PartialEq, Eq, Hash)]
        pub(crate) struct $name {
            $(#[pyo3(get)] pub(crate) $member: $kind,)+
        }

        #[pymethods]
        impl $name {
            #[classattr]
            fn __match_args__() -> $names {
                ($(stringify!($member),)+)
            }

            fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
                repr(slf.as_any())
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                restored_from(slf, ($(&slf.get().$member,)+))
            }

            #[staticmethod]
            fn _restored($($member: $kind),+) -> Self {
                Self { $($member),+ }
            }
        }
    };
}

type One = &'static str;

part! {
    /// Text outside records and calls, as it arrives.
    Text { text: String, choice: u64, block: u64 } (One, One, One)
}

part! {
    /// Reasoning as it arrives.
    Reasoning { text: String, opaque: Option<String>, choice: u64 } (One, One, One)
}

part! {
    /// A piece of the model's refusal.
    Refusal { text: String, choice: u64 } (One, One)
}

part! {
    /// The end of a choice.
    Finish { reason: String, choice: u64 } (One, One)
}

/// The tokens so far.
#[pyclass(frozen, module = "tokenline", eq)]
#[derive(PartialEq)]
pub(crate) struct Usage(pub(crate) tokenline_llm::Usage);

#[pymethods]
impl Usage {
    #[classattr]
    fn __match_args__() -> (One, One, One) {
        ("input_tokens", "output_tokens", "total_tokens")
    }

    #[getter]
    fn input_tokens(&self) -> Option<u64> {
        self.0.input_tokens
    }

    #[getter]
    fn output_tokens(&self) -> Option<u64> {
        self.0.output_tokens
    }

    #[getter]
    fn total_tokens(&self) -> Option<u64> {
        self.0.total_tokens
    }

    #[getter]
    fn cached_input_tokens(&self) -> Option<u64> {
        self.0.cached_input_tokens
    }

    #[getter]
    fn cache_creation_input_tokens(&self) -> Option<u64> {
        self.0.cache_creation_input_tokens
    }

    #[getter]
    fn reasoning_tokens(&self) -> Option<u64> {
        self.0.reasoning_tokens
    }

    /// The known counts by name.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = [
            ("input_tokens", self.0.input_tokens),
            ("output_tokens", self.0.output_tokens),
            ("total_tokens", self.0.total_tokens),
            ("cached_input_tokens", self.0.cached_input_tokens),
            ("cache_creation_input_tokens", self.0.cache_creation_input_tokens),
            ("reasoning_tokens", self.0.reasoning_tokens),
        ];
        let dict = PyDict::new(py);
        for (name, count) in counts {
            if let Some(count) = count {
                dict.set_item(name, count)?;
            }
        }
        Ok(dict)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf.as_any())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        restored_from(slf, (slf.get().to_dict(slf.py())?,))
    }

    /// The usage with these counts.
    #[staticmethod]
    fn _restored(counts: &Bound<'_, PyDict>) -> PyResult<Self> {
        let count = |name: &str| counts.get_item(name)?.map(|count| count.extract::<u64>()).transpose();
        let mut usage = tokenline_llm::Usage::default();
        usage.input_tokens = count("input_tokens")?;
        usage.output_tokens = count("output_tokens")?;
        usage.total_tokens = count("total_tokens")?;
        usage.cached_input_tokens = count("cached_input_tokens")?;
        usage.cache_creation_input_tokens = count("cache_creation_input_tokens")?;
        usage.reasoning_tokens = count("reasoning_tokens")?;
        Ok(Self(usage))
    }
}
