// Runs that a test makes, and the history that it looks at.

import { ask, until, waitForEnd } from "./setup.mjs";

/** A run from its beginning to its end. */
export async function run(all, page, { prompt = "Go.", text = '{"n": 1}\n' } = {}) {
  const model = await ask(all, page, { prompt });
  model.text(text);
  model.finish();
  await waitForEnd(page);
}

export const openHistory = async (page) => {
  await page.click('[data-opens="history"]');
  await page.waitForSelector("#history[open]");
};

/** The list of the open history: [title, details]. */
export const entries = (page) =>
  page.$$eval("#history .entries > li", (all) => all.map((its) => [its.querySelector(".entry-title").textContent, its.querySelector(".details").textContent]));

export const titles = async (page) => (await entries(page)).map(([title]) => title);

export const waitForEntries = (page, count) => until(page, (count) => document.querySelectorAll("#history .entries > li").length === count, count);

/** Waits until the database has so many runs. */
export const kept = (page, count) =>
  until(
    page,
    async (count) => {
      const { History } = await import("/assets/history.js");
      return (await new History(() => {}).list()).length === count;
    },
    count,
  );

/** All that the page has stored, as text. */
export function dump(page) {
  return page.evaluate(async () => {
    const done = (request) => new Promise((resolve, reject) => Object.assign(request, { onsuccess: () => resolve(request.result), onerror: reject }));
    const stored = [{ ...localStorage }, { ...sessionStorage }];
    for (const { name } of await indexedDB.databases()) {
      const database = await done(indexedDB.open(name));
      for (const store of database.objectStoreNames) stored.push(store, await done(database.transaction(store).objectStore(store).getAll()));
      database.close();
    }
    return JSON.stringify(stored);
  });
}
