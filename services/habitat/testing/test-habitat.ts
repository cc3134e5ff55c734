/** The registry of a test file or suite: started before its tests, ended after them. */
import { afterAll, beforeAll } from 'vitest';
import type { Database } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { type HabitatNode, type HabitatTestBed, openHabitatTestBed } from './habitat-test-bed.ts';

interface HabitatOptions {
  readonly open?: () => Promise<Database>;
  /** Processes that share nothing but the database; more than one needs a database for several. */
  readonly nodes?: number;
  readonly platform?: Partial<Platform>;
}

/** To be used inside tests and hooks only: before them nothing has started. */
interface HabitatOfTests {
  bed(): HabitatTestBed;
  /** The first node, also after a restart. */
  readonly node: HabitatNode;
  /** The nth, counted round. */
  nodeOf(n: number): HabitatNode;
  /** Each time another one. */
  next(): HabitatNode;
  /** Ends the nth node and puts another one in its place. */
  restart(n?: number): Promise<void>;
}

export function useHabitat({ open, nodes = 1, platform }: HabitatOptions = {}): HabitatOfTests {
  let opened: HabitatTestBed | null = null;
  const started: HabitatNode[] = [];
  let turn = 0;

  function bed(): HabitatTestBed {
    if (opened === null) throw new Error('the registry of this test has not started');
    return opened;
  }
  function startedNode(n: number): HabitatNode {
    const node = started[n % nodes];
    if (node === undefined) throw new Error('the registry of this test has not started');
    return node;
  }
  const nodeOf = (n: number) => nodeAt(() => startedNode(n));

  beforeAll(async () => {
    opened = await openHabitatTestBed(open);
    for (let index = 0; index < nodes; index += 1) started.push(await opened.start(platform));
  });
  afterAll(async () => {
    for (const node of started) await node.stop();
    await opened?.[Symbol.asyncDispose]();
  });

  return {
    bed,
    node: nodeOf(0),
    nodeOf,
    next() {
      turn += 1;
      return nodeOf(turn);
    },
    async restart(n = 0) {
      await startedNode(n).stop();
      started[n % nodes] = await bed().start(platform);
    },
  };
}

/** A node that is looked up at each use, so a file may name it before it has started. */
function nodeAt(find: () => HabitatNode): HabitatNode {
  return {
    get deps() {
      return find().deps;
    },
    get registry() {
      return find().registry;
    },
    call: (tool, args, over) => find().call(tool, args, over),
    as: (token) => find().as(token),
    rows: (sql, ...values) => find().rows(sql, ...values),
    audited: (key, value) => find().audited(key, value),
    stop: () => find().stop(),
  };
}
