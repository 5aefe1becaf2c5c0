// How models write a call of the tool `weather` as text. A request's `model` begins with one of the names.

const JSON_ARGUMENTS = '{"city": "Paris", "days": 3}';

export const FAMILIES = {
  hermes: `<tool_call>\n{"name": "weather", "arguments": ${JSON_ARGUMENTS}}\n</tool_call>`,
  mistral: `[TOOL_CALLS][{"name": "weather", "arguments": ${JSON_ARGUMENTS}}]`,
  'mistral-args': `[TOOL_CALLS]weather[ARGS]${JSON_ARGUMENTS}`,
  llama: `<|python_tag|>{"name": "weather", "parameters": ${JSON_ARGUMENTS}}`,
  pythonic: '[weather(city="Paris", days=3)]',
  lfm2: '<|tool_call_start|>[weather(city="Paris", days=3)]<|tool_call_end|>',
  'qwen3-coder':
    '<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n' +
    '</function>\n</tool_call>',
  glm:
    '<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n' +
    '<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>',
  kimi:
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>' +
    `${JSON_ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>`,
  harmony: `<|channel|>commentary to=functions.weather <|constrain|>json<|message|>${JSON_ARGUMENTS}<|call|>`,
  functionary: `<function=weather>${JSON_ARGUMENTS}</function>`,
  granite: `<|tool_call|>[{"name": "weather", "arguments": ${JSON_ARGUMENTS}}]`,
  deepseek:
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n' +
    `${JSON_ARGUMENTS}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
};

/** The reasoning of the family `reasoning`, in the server's own member for it; its call is text. */
const REASONING = 'The user asks for "Paris".\nI need the tool.';

/** Every name: the families of texts, a native call, text before the call, and reasoning. */
export const NAMES = [...Object.keys(FAMILIES), 'native', 'preface', 'reasoning'];

/** What a model of that name writes: { reasoning, text, native }. */
export function written(name) {
  switch (name) {
    case 'native':
      return { reasoning: '', text: '', native: true };
    case 'preface':
      return { reasoning: '', text: `Let me look.\n\n${FAMILIES.hermes}`, native: false };
    case 'reasoning':
      return { reasoning: REASONING, text: FAMILIES.hermes, native: false };
    default:
      return { reasoning: '', text: FAMILIES[name], native: false };
  }
}
