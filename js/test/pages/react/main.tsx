// Lists that fill and values that grow, under the control of a test: `?list`, `?live`, ... and `&strict`.
import { Profiler, type ReactNode, StrictMode, memo, useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { hooks, useLive, useRecords } from "tokenline/react";
import * as z from "zod";

const River = z.object({ name: z.string(), km: z.number().positive() });
const Recipe = z.object({ title: z.string(), steps: z.array(z.object({ text: z.string() })) });

type PartialRiver = { name?: string; km?: number };

/** What a test sees. */
const seen = {
  /** What the hook has returned last. */
  result: undefined as unknown,
  /** How often each row was rendered, by its name. */
  rows: {} as Record<string, number>,
  commits: 0,
  /** How many lists of records there were. */
  lists: 0,
  finished: 0,
  errors: [] as string[],
  rejects: [] as string[],
};
Object.assign(window, { seen });

const Row = memo(function Row({ river }: { river: PartialRiver }) {
  const name = river.name ?? "";
  seen.rows[name] = (seen.rows[name] ?? 0) + 1;
  return <li>{`${name} ${river.km ?? ""}`.trim()}</li>;
});

/** Judges when a test says so. */
const verdicts: (() => void)[] = [];
Object.assign(window, { verdicts });
const Judged = River.refine(
  ({ name }) => new Promise<boolean>((resolve) => verdicts.push(() => resolve(name !== "Styx"))),
);

function List({ throttle, schema = River }: { throttle?: number; schema?: typeof River }) {
  const rivers = useRecords("/records", {
    schema,
    init: { headers: { "x-page": "list" } },
    ...(throttle !== undefined && { throttle }),
    onFinish: ({ records }) => (seen.finished += records.length),
    onError: (error) => seen.errors.push(error.message),
    onReject: (reject) => seen.rejects.push(reject.code),
  });
  seen.result = rivers;
  const { records, open, error, isLoading, report } = rivers;
  useEffect(() => void seen.lists++, [records]);
  return (
    <>
      <ol>
        {records.map((river, at) => <Row key={at} river={river} />)}
        {open && <Row key={records.length} river={open} />}
      </ol>
      <output>{`${isLoading ? "loading" : "idle"} ${records.length} ${report.rejected} ${error?.message ?? "-"}`}</output>
    </>
  );
}

/** The response of a provider, and a form. */
const { useRecords: useProvided } = hooks(() => import("tokenline/providers"));

function Provided() {
  const { records, submit } = useProvided("/records", { schema: River, provider: "openai-chat" });
  return (
    <form action={submit}>
      <input name="continent" defaultValue="Asia" />
      <button>ask</button>
      <output>{records.map((river) => river.name).join()}</output>
    </form>
  );
}

/** Asks as it appears. */
function Auto() {
  const { records, submit } = useRecords("/records", { schema: River });
  useEffect(() => submit({ from: "effect" }), [submit]);
  return <output>{records.map((river) => river.name).join()}</output>;
}

/** Asks as it first appears, and no more. */
function Once() {
  const hasAsked = useRef(false);
  const { records, submit } = useRecords("/records", { schema: River });
  useEffect(() => {
    if (!hasAsked.current) submit({ from: "once" });
    hasAsked.current = true;
  }, [submit]);
  return <output>{records.map((river) => river.name).join()}</output>;
}

function Leaving() {
  const [isThere, setIsThere] = useState(true);
  return (
    <>
      <button onClick={() => setIsThere(!isThere)}>leave</button>
      {isThere && <List />}
    </>
  );
}

function Live() {
  const recipe = useLive("/records", { schema: Recipe });
  seen.result = recipe;
  const { value, state, isComplete } = recipe;
  const isWritten = value !== undefined && isComplete(value, "title");
  return (
    <>
      <h1>{`${value?.title ?? ""}${isWritten ? "" : "…"}`}</h1>
      <output>{`${state} ${value?.steps?.length ?? 0}`}</output>
    </>
  );
}

/** Many chunks in no time, by a function; and the functions of another entry point. */
const { useRecords: useStreamed } = hooks(() => import("tokenline/live"));

function Many() {
  const { records, isLoading, submit } = useStreamed((count: number) => chunks(count));
  seen.result = { records, isLoading, submit };
  return <output>{`${isLoading} ${records.length}`}</output>;
}

async function* chunks(count: number): AsyncGenerator<string> {
  const { port1, port2 } = new MessageChannel();
  for (let at = 0; at < count; at++) {
    // A task for each chunk.
    await new Promise((resolve) => {
      port1.onmessage = resolve;
      port2.postMessage(undefined);
    });
    yield `{"at":${at}}\n`;
  }
}

const pages: Record<string, ReactNode> = {
  list: <List />,
  throttled: <List throttle={300} />,
  judged: <List schema={Judged} />,
  provided: <Provided />,
  auto: <Auto />,
  once: <Once />,
  leaving: <Leaving />,
  live: <Live />,
  many: <Many />,
};
const parameters = [...new URLSearchParams(location.search).keys()];
const page = (
  <Profiler id="page" onRender={() => seen.commits++}>
    {pages[parameters[0]!]}
  </Profiler>
);
createRoot(document.querySelector("main")!).render(parameters.includes("strict") ? <StrictMode>{page}</StrictMode> : page);
