import { StrictMode, memo } from "react";
import { createRoot } from "react-dom/client";
import { type DeepPartial, useRecords } from "tokenline/react";
import * as z from "zod";

const River = z.object({ name: z.string(), length_km: z.number(), mouth: z.string() });
type River = z.infer<typeof River>;

/** Rendered once for a record that is complete, and as often as it grows for the one that is being written. */
const Row = memo(function Row({ river, isOpen }: { river: DeepPartial<River>; isOpen?: boolean }) {
  return (
    <li style={{ opacity: isOpen ? 0.5 : 1 }}>
      <b>{river.name}</b> {river.length_km && `${river.length_km} km`} {river.mouth}
    </li>
  );
});

function Rivers() {
  const { records, open, error, isLoading, report, submit, stop } = useRecords("/rivers", { schema: River });
  return (
    <>
      <button onClick={() => submit({ continent: "Europe" })}>List the rivers of Europe</button>
      <button onClick={stop} disabled={!isLoading}>Stop</button>
      <ol>
        {records.map((river, at) => <Row key={at} river={river} />)}
        {open && <Row key={records.length} river={open} isOpen />}
      </ol>
      {error && <p role="alert">{error.message}</p>}
      {report.rejected > 0 && <p>{report.rejected} left out: not as the schema says</p>}
    </>
  );
}

createRoot(document.querySelector("main")!).render(
  <StrictMode>
    <Rivers />
  </StrictMode>,
);
