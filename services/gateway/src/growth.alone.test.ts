/** No body and no text costs a door more than in proportion to what it is. */
import { growthOf, LINEAR } from '@svc/testing/growth.ts';
import { BODY_SIZE, called, NASTY_BODIES } from '@svc/testing/growth-bodies.ts';
import { NASTY_TEXTS } from '@svc/testing/growth-texts.ts';
import { toolsThatGrow } from '@svc/testing/growth-tools.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Harness, startHarness } from '../testing/harness.ts';
import { discoveryTools } from './tools/discovery.ts';
import { nodeTools } from './tools/nodes.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

test.each(NASTY_BODIES)('%s as a body', async (_name, body) => {
  const send = async (text: string): Promise<void> => {
    const response = await harness.call(text);
    await response.arrayBuffer();
    expect(response.status).toBeLessThan(500);
  };
  let text = '';
  const prepare = (size: number): void => {
    text = body(size);
  };
  expect((await growthOf(() => send(text), Math.floor(BODY_SIZE / 3), prepare)).factor).toBeLessThanOrEqual(LINEAR);
});

test.each(NASTY_TEXTS)('%s in every argument of every tool', async (_name, text) => {
  const call = async (tool: string, args: Readonly<Record<string, unknown>>): Promise<void> => {
    const { status } = await harness.tool(tool, args);
    expect(status).toBeLessThan(500);
  };
  expect(await toolsThatGrow([...discoveryTools, ...nodeTools], text, call)).toEqual([]);
});

test('what is nested deeper than parsing is quick at is told as too deep, wherever brackets are not text', async () => {
  const codeOf = async (body: string) => {
    const reply = (await (await harness.call(body)).json()) as { error?: { code: string } };
    return reply.error?.code ?? null;
  };
  expect(await codeOf('['.repeat(2_000_000))).toBe('INVALID_REQUEST');
  expect(await codeOf(called(`{"text":"${'['.repeat(5000)}"}`))).toBeNull();
  expect(await codeOf(called(`{"text":"${'\\\\'.repeat(700)}\\"${'['.repeat(5000)}"}`))).toBeNull();
  expect(await codeOf(called(`{"text":"\\\\","other":${'['.repeat(1500)}${']'.repeat(1500)}}`))).toBe(
    'INVALID_REQUEST',
  );
  expect(await codeOf('{"a":"'.padEnd(5000, 'b'))).toBe('PARSE_ERROR');
});
