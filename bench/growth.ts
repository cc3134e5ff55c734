/** How calls grow with the nastiest of what they are given, and for how long each keeps the event loop to itself. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as settled } from 'node:timers/promises';
import { migratedDatabase } from '@svc/testing/database.ts';
import { answered, casesToldBy, type GrowthCase, growthOf, LINEAR, type ToolCall } from '@svc/testing/growth.ts';
import { BODY_SIZE, NASTY_BODIES } from '@svc/testing/growth-bodies.ts';
import { GROWTH_CASES, MASKED_FOLDER } from '@svc/testing/growth-cases.ts';
import { NASTY_TEXTS } from '@svc/testing/growth-texts.ts';
import { type GrowingTool, SWOLLEN_SIZE, swollenCalls } from '@svc/testing/growth-tools.ts';
import { openBrainTestBed, testCaller } from '../services/brain/testing/brain-test-bed.ts';
import { allTools as escrowTools } from '../services/escrow/src/tools/all.ts';
import { startEscrowNode } from '../services/escrow/testing/escrow-test-bed.ts';
import { discoveryTools } from '../services/gateway/src/tools/discovery.ts';
import { nodeTools } from '../services/gateway/src/tools/nodes.ts';
import { startHarness } from '../services/gateway/testing/harness.ts';
import { habitatTools } from '../services/habitat/src/tools/all.ts';
import { openHabitatTestBed } from '../services/habitat/testing/habitat-test-bed.ts';
import { markdownTable, shown } from './figures.ts';

const SETTLE_MS = 20;

interface Row {
  readonly name: string;
  /** Of the larger input. */
  readonly size: number;
  readonly factor: number;
  readonly cpuMs: number;
  readonly blockMs: number;
}

type Tell = (call: ToolCall) => Promise<void>;

/** Resolves with a Markdown table, the longest block first. In this process: its clocks are the ones that are read. */
export async function measureGrowth(): Promise<string> {
  const rows = [
    ...(await measureBrain()),
    ...(await measureHabitat()),
    ...(await measureEscrow()),
    ...(await measureGateway()),
  ];
  const table = rows
    .toSorted((a, b) => b.blockMs - a.blockMs)
    .map(({ name, size, factor, cpuMs, blockMs }) => [
      name,
      shown(size),
      `${shown(factor, 2)}${factor > LINEAR ? ' !' : ''}`,
      `${shown(cpuMs, 1)} ms`,
      `${shown(blockMs)} ms`,
    ]);
  const header = [
    `calls at n and 2n`,
    '2n',
    `CPU 2n / n (<= ${LINEAR})`,
    'CPU at 2n',
    'loop blocked at 2n (<= 200 ms)',
  ];
  return markdownTable(header, table);
}

async function measureBrain(): Promise<Row[]> {
  await using bed = await openBrainTestBed();
  const node = await bed.start();
  bed.registry.setPolicy(`brain:svc/${MASKED_FOLDER}`, { mask: ['k5', 'salary'] });
  const tell: Tell = ([tool, args]) =>
    answered(testCaller(() => node, null).ok(tool, { ...args }), (code) => code === 'VAF_INPUT_INVALID');
  const cases = casesToldBy(tell);
  const measured = async (one: GrowthCase): Promise<Row> => {
    const { name, size } = one;
    const { factor, cpuMs } = await cases.grow(one, size);
    const blockMs = await blockOf(async () => {
      const ready = await cases.ready(one, size * 2);
      return () => tell(ready);
    });
    return { name: `brain: ${name}`, size: size * 2, factor, cpuMs, blockMs };
  };
  const rows: Row[] = [];
  for (const one of GROWTH_CASES) rows.push(await measured(one));
  await node.stop();
  return rows;
}

async function measureHabitat(): Promise<Row[]> {
  await using bed = await openHabitatTestBed();
  const node = await bed.start();
  const rows = await measureTools('habitat', habitatTools, ([tool, args]) => answered(node.call(tool, { ...args })));
  await node.stop();
  return rows;
}

async function measureEscrow(): Promise<Row[]> {
  const database = await migratedDatabase();
  const node = await startEscrowNode(database);
  const rows = await measureTools('escrow', escrowTools, ([tool, args]) => answered(node.call(tool, { ...args })));
  await node.stop();
  await database.close();
  return rows;
}

async function measureGateway(): Promise<Row[]> {
  const harness = await startHarness();
  const rows = await measureTools('gateway', [...discoveryTools, ...nodeTools], async ([tool, args]) => {
    await harness.tool(tool, args);
  });
  const send = async (body: string): Promise<void> => {
    await (await harness.call(body)).arrayBuffer();
  };
  for (const [name, body] of NASTY_BODIES) {
    let text = '';
    const prepare = (size: number): void => {
      text = body(size);
    };
    const { factor, cpuMs } = await growthOf(() => send(text), BODY_SIZE / 2, prepare);
    prepare(BODY_SIZE);
    const blockMs = await blockOf(async () => () => send(text));
    rows.push({ name: `gateway: body, ${name}`, size: BODY_SIZE, factor, cpuMs, blockMs });
  }
  await harness.stop();
  return rows;
}

/** A row for each kind of text: of all arguments of all tools the worst of each figure, and which blocked the longest. */
async function measureTools(service: string, tools: readonly GrowingTool[], tell: Tell): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [kind, text] of NASTY_TEXTS) {
    let [factor, cpuMs, blockMs, worst] = [0, 0, 0, ''];
    for (const one of swollenCalls(tools, text)) {
      const growth = await growthOf((size) => tell(one.call(size)), SWOLLEN_SIZE);
      const large = one.call(SWOLLEN_SIZE * 2);
      const blocked = await blockOf(async () => () => tell(large));
      factor = Math.max(factor, growth.factor);
      cpuMs = Math.max(cpuMs, growth.cpuMs);
      if (blocked > blockMs) [blockMs, worst] = [blocked, `${one.tool}, ${one.place}`];
    }
    rows.push({ name: `${service}: ${kind} (${worst})`, size: SWOLLEN_SIZE * 2, factor, cpuMs, blockMs });
  }
  return rows;
}

const ATTEMPTS = 4;
/** Less needs no second look. */
const SHORT_MS = 50;

/** The longest time, in ms, for which nothing else could run; the least of some attempts, to which others only add. */
async function blockOf(prepare: () => Promise<() => Promise<void>>): Promise<number> {
  let least = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS && least > SHORT_MS; attempt += 1) {
    const work = await prepare();
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    await work();
    await settled(SETTLE_MS); // the histogram learns of a block when its timer comes late
    delay.disable();
    least = Math.min(least, delay.max / 1e6);
  }
  return least;
}
