//! Attributes of a model request, for traces.

/// A request to a model, without its messages.
#[derive(Clone, Debug, Default)]
pub struct ModelRequest {
    /// The provider as OpenTelemetry names it: `openai`.
    pub provider: &'static str,
    /// The model, by the provider's name for it.
    pub model: Option<String>,
    /// The most tokens that the response may have.
    pub max_tokens: Option<u32>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling (`top_p`).
    pub top_p: Option<f64>,
    /// The sampling seed.
    pub seed: Option<u64>,
    /// The server's host.
    pub server_address: Option<String>,
    /// The server's port.
    pub server_port: Option<u16>,
}
