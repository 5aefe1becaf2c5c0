// What every view is checked for.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Findings of axe-core that matter. */
export async function findings(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`);
}

/** For the page: colours are compared when nothing moves. */
export const still = () => {
  document.getAnimations().forEach((animation) => animation.finish?.call && animation.cancel());
};

/** The id of what has the focus, else its name or text. */
export const focused = (page) =>
  page.evaluate(() => {
    const { id, name, textContent, tagName } = document.activeElement;
    return id || name || (tagName === "BODY" ? tagName : textContent);
  });

/** Fails for an element that is wider than its place, as on a phone. */
export async function assertFits(page, selector) {
  const wide = await page.evaluate((selector) => {
    const all = [document.documentElement, ...document.querySelectorAll(`${selector}, ${selector} *`)];
    const isWide = (its) => its.clientWidth > 0 && its.scrollWidth > its.clientWidth + 1 && getComputedStyle(its).textOverflow !== "ellipsis";
    const isHidden = (its) => its.closest(".visually-hidden, svg, select, input");
    return all.filter((its) => isWide(its) && !isHidden(its)).map((its) => `${its.tagName}.${its.className} ${its.scrollWidth} > ${its.clientWidth}`);
  }, selector);
  assert.deepEqual(wide, []);
}

/** Goes on with the key until what has the focus is the one. */
export async function tabTo(page, one, key = "Tab") {
  const passed = [];
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press(key);
    const its = await focused(page);
    if (its === one) return;
    passed.push(its);
  }
  assert.fail(`${one} cannot be reached: ${passed.join(", ")}`);
}
