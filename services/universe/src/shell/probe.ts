/** Tries to break out of the sandbox of programs before anybody else may try. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '@svc/runtime/clock.ts';
import type { Probe } from '../kept-probe.ts';
import type { ShellRun, ShellSandbox } from './sandbox.ts';

const ENDLESS_MS = 400;
/** A limit that works ends a program long before, also on a busy machine. */
const PROBE_MS = 15_000;
/** What a program may find in its environment. */
const NAMES: ReadonlySet<string> = new Set(['PATH', 'HOME', 'TMPDIR', 'LANG', 'PWD', 'SHLVL', '_']);

export async function probeShell(sandbox: Pick<ShellSandbox, 'run'>, clock: Clock): Promise<Probe> {
  const secret = randomUUID();
  const folder = await mkdtemp(join(tmpdir(), 'canary-'));
  let connects = 0;
  const listener = createServer((socket) => {
    connects += 1;
    socket.destroy();
  });
  try {
    const canary = join(folder, 'canary');
    await writeFile(canary, secret, { mode: 0o644 });
    await new Promise<void>((listening) => {
      listener.listen(0, '127.0.0.1', listening);
    });
    const { port } = listener.address() as AddressInfo;
    const runs = await escapes(sandbox, { canary, port });
    return { at: clock.now(), ...judged(runs, { secret, connects }) };
  } finally {
    listener.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Bait {
  readonly canary: string;
  readonly port: number;
}

async function escapes(sandbox: Pick<ShellSandbox, 'run'>, { canary, port }: Bait) {
  const run = (argv: readonly string[], timeMs = PROBE_MS, limits = {}): Promise<ShellRun> =>
    sandbox.run(argv, timeMs, limits).done;
  const script = (text: string): Promise<ShellRun> => run(['bash', '-c', `echo begun; ${text}`]);
  const [read, environment, socket, write, files, processes] = await Promise.all([
    run(['cat', canary, '/etc/passwd', '/proc/1/environ', '/proc/self/root/etc/passwd']),
    run(['env']),
    script(`exec 3<>/dev/tcp/127.0.0.1/${port} && echo open`),
    script('for at in / /usr /usr/bin /dev /etc; do : > $at/canary && echo wrote; done'),
    script('head -c 12M /dev/zero > one; head -c 12M /dev/zero > two && echo wrote'),
    script('for n in $(seq 60); do sleep 9 & done; echo forked'),
  ]);
  const [namespaces, endless, cpu, memory] = await Promise.all([
    run(['unshare', '--user', 'echo', 'out']),
    run(['tail', '-f', '/dev/null'], ENDLESS_MS),
    run(['sha256sum', '/dev/zero'], PROBE_MS, { cpuS: 1 }),
    run(['tail', '/dev/zero']),
  ]);
  return { read, environment, socket, write, files, processes, namespaces, endless, cpu, memory };
}

function judged(
  runs: Awaited<ReturnType<typeof escapes>>,
  { secret, connects }: { readonly secret: string; readonly connects: number },
): Pick<Probe, 'ok' | 'checks'> {
  const { read, environment, socket, write, files, processes, namespaces, endless, cpu, memory } = runs;
  const ran = ({ started, exitCode }: ShellRun): boolean => started && exitCode !== null;
  const saidOnly = (run: ShellRun, text: string): boolean => run.started && run.stdout === text;
  const names = environment.stdout.split('\n').flatMap((line) => line.split('=', 1).filter(Boolean));
  const checks = [
    { name: 'programs run', ok: environment.exitCode === 0 },
    { name: 'no file of the host is readable', ok: ran(read) && read.stdout === '' && !read.stderr.includes(secret) },
    { name: 'no variable of the host is there', ok: names.length > 0 && names.every((name) => NAMES.has(name)) },
    { name: 'no socket opens', ok: saidOnly(socket, 'begun\n') && connects === 0 },
    { name: 'nothing of the system can be written', ok: saidOnly(write, 'begun\n') },
    { name: 'files have a limit', ok: saidOnly(files, 'begun\n') },
    { name: 'processes have a limit', ok: processes.started && processes.stderr.includes('fork') },
    { name: 'no further namespace', ok: ran(namespaces) && namespaces.stdout === '' },
    { name: 'an endless program dies', ok: endless.timedOut && endless.exitCode === null },
    { name: 'a busy program dies', ok: cpu.started && !cpu.timedOut && cpu.exitCode === null },
    { name: 'a memory hog dies', ok: memory.started && !memory.timedOut && memory.exitCode !== 0 },
  ];
  return { ok: checks.every(({ ok }) => ok), checks };
}
