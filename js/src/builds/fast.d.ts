/** The WebAssembly module of this build, in base64. The build writes it. */
declare const base64: string;
export default base64;
