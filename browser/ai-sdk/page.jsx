// A page as an application would write it: a chat, a list of objects and a completion.

import { useChat, useCompletion, experimental_useObject as useObject } from '@ai-sdk/react';
import { DefaultChatTransport, TextStreamChatTransport } from 'ai';
import { createRoot } from 'react-dom/client';
import { useEffect } from 'react';
import { z } from 'zod';

function Part({ part }) {
  const kind = part.type;
  if (kind === 'text' || kind === 'reasoning') return <p data-part={kind} data-state={part.state}>{part.text}</p>;
  if (kind.startsWith('tool-')) {
    return (
      <div data-part={kind} data-state={part.state} data-call={part.toolCallId}>
        <code className="input">{JSON.stringify(part.input)}</code>
        <code className="output">{JSON.stringify(part.output)}</code>
        <code className="error">{part.errorText}</code>
      </div>
    );
  }
  return <i data-part={kind} />;
}

function Chat({ id, transport }) {
  const { messages, sendMessage, regenerate, status, stop, error, clearError } = useChat({ transport });
  window[id] = { sendMessage, regenerate, stop, clearError, messages };
  return (
    <section id={id} data-status={status}>
      {messages.map(message => (
        <article key={message.id} data-role={message.role}>
          {message.parts.map((part, at) => <Part key={at} part={part} />)}
        </article>
      ))}
      <output className="error">{error?.message}</output>
    </section>
  );
}

const definitions = z.array(z.object({ entity: z.string(), definition: z.string() }));
window.objects = [];

function Objects() {
  const { object, submit, isLoading, error, stop } = useObject({ api: '/api/object', schema: definitions });
  window.object = { submit, stop };
  useEffect(() => { window.objects.push(structuredClone(object ?? null)); }, [object]);
  return (
    <section id="object" data-loading={isLoading}>
      <ul>{object?.map((item, at) => <li key={at}>{item?.entity}: {item?.definition}</li>)}</ul>
      <output className="error">{error?.message}</output>
    </section>
  );
}

// The body of `useCompletion` as that of a chat.
const asChat = (url, init) => {
  const { prompt } = JSON.parse(init.body);
  const messages = [{ id: '1', role: 'user', parts: [{ type: 'text', text: prompt }] }];
  return fetch(url, { ...init, body: JSON.stringify({ messages }) });
};

function Completion({ id, ...options }) {
  const { completion, complete, error, isLoading } = useCompletion({ id, ...options });
  window[id] = { complete };
  return (
    <section id={id} data-loading={isLoading}>
      <p>{completion}</p>
      <output className="error">{error?.message}</output>
    </section>
  );
}

const chat = new DefaultChatTransport({ api: '/api/chat' });
const text = new TextStreamChatTransport({ api: '/api/object' });
createRoot(document.getElementById('root')).render(
  <>
    <Chat id="chat" transport={chat} />
    <Chat id="textChat" transport={text} />
    <Objects />
    <Completion id="completion" api="/api/chat" fetch={asChat} />
    <Completion id="textCompletion" api="/api/object" streamProtocol="text" />
  </>,
);
