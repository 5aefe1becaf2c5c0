//! Methods shared by all validators.

/// Implements the shared methods for a validator with an [`Engine`](super::Engine) in the field `engine`.
macro_rules! shared_methods {
    ($validator:ident) => {
        impl<'s> $validator<'s> {
            /// Sets the number of errors that the report lists; further ones are only counted. Default: 100.
            pub fn max_errors(mut self, max_errors: usize) -> Self {
                self.engine.tally.max_errors = max_errors;
                self
            }

            /// Sets the limits for the length of lines (default 8 MiB, without the line end) and the depth of values
            /// (default 127). Longer lines are errors, even if blank.
            pub fn limits(mut self, limits: ::tokenline_core::Limits) -> Self {
                self.engine.limits = limits;
                self
            }

            /// Sets the number of threads that [`read`](Self::read) uses; default: 1. The report does not depend on it.
            pub fn jobs(mut self, jobs: usize) -> Self {
                self.engine.jobs = jobs;
                self
            }

            /// Sets a callback for each invalid line, in order, including those beyond
            /// [`max_errors`](Self::max_errors). If it fails, so does the validation.
            pub fn on_invalid(
                mut self,
                callback: impl FnMut($crate::InvalidLine<'_>) -> ::std::io::Result<()> + Send + 's,
            ) -> Self {
                self.engine.tally.on_invalid = Some(Box::new(callback));
                self
            }

            /// Reads a source to its end. Several sources, one after another, form one dataset. The path is for the
            /// report.
            ///
            /// Lines are checked as soon as they are complete.
            ///
            /// # Errors
            ///
            /// If the source cannot be read, or the [callback](Self::on_invalid) fails. There is no report in this
            /// case. Invalid content is never an error here.
            pub fn read(
                &mut self,
                path: impl Into<String>,
                source: impl ::std::io::Read + Send,
            ) -> ::std::io::Result<()> {
                self.engine.read(path.into(), source)
            }

            /// Starts the next input for [`push`](Self::push). The path is for the report.
            pub fn begin(&mut self, path: impl Into<String>) {
                self.engine.begin(path.into());
            }

            /// Checks the next bytes of an input, chunked anywhere.
            pub fn push(&mut self, bytes: impl AsRef<[u8]>) {
                self.engine.push(bytes.as_ref());
            }
        }

        /// Hides the input.
        impl ::std::fmt::Debug for $validator<'_> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($validator)).finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use shared_methods;
