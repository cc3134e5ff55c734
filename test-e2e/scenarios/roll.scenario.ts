/** The script that replaces a role one by one, with clients who do not stop for it. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { Caller } from '../client.ts';
import { Balancer } from '../instruments/balancer.ts';
import { Load, reader } from '../instruments/load.ts';
import { LOAD_PAUSE_MS } from '../settings.ts';
import type { ServiceProcess } from '../targets/service-process.ts';
import { newName, ownTarget, REGISTRY_APART, verifies } from '../verifies.ts';

const CLIENTS = 20;
const ROLL = join(import.meta.dirname, '..', '..', 'deploy', 'roll.ts');
const target = ownTarget({ SVC_DRAIN_WAIT_MS: '2000' }, { only: 'cluster', apart: REGISTRY_APART });

/** A supervisor: `curl` to the answered address restarts the process of that name. */
async function supervise(processes: readonly ServiceProcess[]): Promise<(one: ServiceProcess) => string> {
  const server = createServer((request, response) => {
    const one = processes.find(({ name }) => request.url === `/${name}`);
    const restarted = async () => {
      if (one === undefined) throw new Error('no such process');
      if ((await one.stop()) !== 0) throw new Error(one.tail());
      one.spawn();
    };
    restarted().then(
      () => response.end(),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return ({ name }) =>
    `'${process.execPath}' -e "fetch('http://127.0.0.1:${port}/${name}').then(({ ok }) => process.exit(ok ? 0 : 1))"`;
}

verifies(
  'operation:roll',
  async ({ place, report }) => {
    const { everybody: processes } = target.get();
    const pids = processes.map(({ pid }) => pid);
    const restartOf = await supervise(processes);
    const brain = newName('b');
    await new Caller(place).ok('brain_switch', { name: brain, create: true });
    await using balancer = await Balancer.start(place.gateways);
    const through = { gateways: [balancer.url], key: place.key };
    const callers = Array.from({ length: CLIENTS }, () => new Caller(through));
    const load = new Load(callers, { clients: CLIENTS, brain, readEvery: 2, pauseMs: LOAD_PAUSE_MS });
    const payer = new Caller(through);
    const spent: number[] = [];
    let isOver = false;
    const spending = (async () => {
      while (!isOver) spent.push((await payer.call('escrow_create', { org: newName('o') })).status);
    })();
    try {
      const pairs = processes.flatMap((one) => [one.health ?? '', restartOf(one)]);
      await promisify(execFile)(process.execPath, [ROLL, 'each', ...pairs]);
    } finally {
      isOver = true;
      await Promise.all([load.stop(), spending]);
    }
    expect(processes.filter(({ pid }, index) => pid === pids[index])).toEqual([]);
    expect(load.failures()).toEqual([]);
    expect(spent.filter((status) => status !== 200)).toEqual([]);
    expect(await load.ledger.lost(reader(new Caller(place), brain))).toEqual([]);
    expect(load.outcomes.length).toBeGreaterThan(300);
    report(`${processes.length} processes replaced: ${load.outcomes.length + spent.length} calls, 0 failed`);
  },
  { on: target, timeoutMs: 400_000 },
);
