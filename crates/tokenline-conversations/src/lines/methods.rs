//! The methods that all validators have.

/// Gives a validator, which holds an [`Engine`](super::Engine) as `engine`, the methods that all have.
macro_rules! shared_methods {
    ($validator:ident) => {
        impl<'s> $validator<'s> {
            /// Sets how many errors the report names; the others are counted. 100 unless told otherwise.
            pub fn max_errors(mut self, max_errors: usize) -> Self {
                self.engine.tally.max_errors = max_errors;
                self
            }

            /// Sets how long a line, and how deep a value, may be: 8 MiB, the line's end not counted, and 127 unless
            /// told otherwise. What is longer is an error whatever is on it, white space too.
            pub fn limits(mut self, limits: ::tokenline_core::Limits) -> Self {
                self.engine.limits = limits;
                self
            }

            /// Sets how many threads check what [`read`](Self::read) reads; one unless told otherwise. The report is
            /// the same for any number.
            pub fn jobs(mut self, jobs: usize) -> Self {
                self.engine.jobs = jobs;
                self
            }

            /// Has this told of each line that is not valid, in order, also of those beyond
            /// [`max_errors`](Self::max_errors). If it fails, so does the validation.
            pub fn on_invalid(
                mut self,
                tell: impl FnMut($crate::InvalidLine<'_>) -> ::std::io::Result<()> + Send + 's,
            ) -> Self {
                self.engine.tally.on_invalid = Some(Box::new(tell));
                self
            }

            /// Reads a source to its end. Several, one after the other, are one dataset. The path is for the report.
            ///
            /// What is read is checked as soon as there is a whole line.
            ///
            /// # Errors
            ///
            /// If the source cannot be read, or whoever is told of [invalid lines](Self::on_invalid) fails. Then there
            /// is nothing to report. What a source says is never an error.
            pub fn read(
                &mut self,
                path: impl Into<String>,
                source: impl ::std::io::Read + Send,
            ) -> ::std::io::Result<()> {
                self.engine.read(path.into(), source)
            }

            /// Starts with the next input that is to be [pushed](Self::push). The path is for the report.
            pub fn begin(&mut self, path: impl Into<String>) {
                self.engine.begin(path.into());
            }

            /// Checks more of an input, cut anywhere.
            pub fn push(&mut self, bytes: impl AsRef<[u8]>) {
                self.engine.push(bytes.as_ref());
            }
        }

        /// Without what was read.
        impl ::std::fmt::Debug for $validator<'_> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($validator)).finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use shared_methods;
