/** How calls grow with the nastiest of what they are given, and for how long each keeps the event loop to itself. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as settled } from 'node:timers/promises';
import { GROWTH_CASES, MASKED_FOLDER } from '@svc/testing/growth-cases.ts';
import { type GrowthCase, growthOf, LINEAR, type ToolCall } from '@svc/testing/growth.ts';
import { type BrainNode, openBrainTestBed, testCaller } from '../services/brain/testing/brain-test-bed.ts';
import { markdownTable, shown } from './figures.ts';

const SETTLE_MS = 20;

interface Row {
  readonly name: string;
  readonly size: number;
  readonly factor: number;
  readonly cpuMs: number;
  readonly blockMs: number;
}

/** Resolves with a Markdown table, the longest block first. In this process: its clocks are the ones that are read. */
export async function measureGrowth(): Promise<string> {
  await using bed = await openBrainTestBed();
  const node = await bed.start();
  bed.registry.setPolicy(`brain:svc/${MASKED_FOLDER}`, { mask: ['k5', 'salary'] });
  const rows: Row[] = [];
  for (const one of GROWTH_CASES) rows.push(await measureCase(node, one));
  await node.stop();
  const table = rows
    .toSorted((a, b) => b.blockMs - a.blockMs)
    .map(({ name, size, factor, cpuMs, blockMs }) => [
      name,
      shown(size * 2),
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

let runs = 0;

async function measureCase(node: BrainNode, { name, size, prepare, call }: GrowthCase): Promise<Row> {
  const tell = async ([tool, args]: ToolCall): Promise<void> => {
    await testCaller(() => node, null)
      .ok(tool, { ...args })
      .catch((error: Error) => {
        if (error.message !== 'VAF_INPUT_INVALID') throw error;
      });
  };
  const prepared = async (asked: number): Promise<void> => {
    runs += 2;
    for (const one of prepare?.(asked, runs) ?? []) await tell(one);
  };
  const { factor, cpuMs } = await growthOf((asked) => tell(call(asked, runs)), size, prepared);
  await prepared(size * 2);
  const ready = call(size * 2, runs);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await tell(ready);
  await settled(SETTLE_MS); // the histogram learns of a block when its timer comes late
  delay.disable();
  return { name, size, factor, cpuMs, blockMs: delay.max / 1e6 };
}
