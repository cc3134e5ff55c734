import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type AgoraProcess, type LogBed, openLogBed, type Teller } from '../../testing/log-bed.ts';
import { createSinkFiles } from './sink-file.ts';

const FULL_DISK = '/dev/full';

describe('the sink', () => {
  let bed: LogBed;
  let teller: Teller;
  let agora: AgoraProcess;

  beforeAll(async () => {
    bed = await openLogBed();
    teller = await bed.teller();
    agora = await bed.start();
  });
  afterAll(async () => {
    await agora.stop();
    await teller.close();
    await bed.close();
  });

  const told = (role: string) =>
    teller.tell({ name: 'role:granted', payload: { userId: 'u', role, by: 'a' }, workspace: 'w' });
  const directory = () => join(bed.dataDir, 'events');
  const lines = (): { name: string; payload: { role?: string; enabled?: boolean } }[] =>
    readdirSync(directory())
      .flatMap((name) => readFileSync(join(directory(), name), 'utf8').trim().split('\n'))
      .map((line) => JSON.parse(line));
  const roles = () => lines().flatMap(({ payload: { role = [] } }) => role);

  test('is off until an operator switches it on, and says when its directory cannot be written', async () => {
    await told('before');
    await expect.poll(() => bed.call('event_tail')).toMatchObject({ events: [{}] });
    expect(await bed.call('event_sink_stats')).toMatchObject({
      enabled: false,
      file: null,
      written: 0,
      dropped: 0,
      bytes: 0,
      lastAt: null,
    });
    expect(existsSync(directory())).toBe(false);
    writeFileSync(directory(), '');
    expect(await bed.call('event_sink_enable')).toMatchObject({ enabled: false, code: 'E_STATE_WRITE' });
    expect(await bed.call('event_sink_stats')).toMatchObject({ enabled: false });
    rmSync(directory());
    const on = await bed.call('event_sink_enable');
    expect(on).toMatchObject({
      enabled: true,
      changed: true,
      file: expect.stringMatching(/events-\d{4}-\d\d-\d\d\.jsonl$/),
    });
    expect(await bed.call('event_sink_enable')).toEqual({ ...on, changed: false });
    const audited = () => bed.registry.audited.filter(({ event }) => event === 'events:sink-changed');
    await expect.poll(audited).toMatchObject([{ data: { enabled: true, by: 'operator' } }]);
  });

  test('copies every event from then on, once, also over a restart', async () => {
    await told('first');
    await expect.poll(() => roles()).toEqual(['first']);
    // Which of two services has its event first in the log is nobody's promise.
    const switches = () => lines().filter(({ name }) => name === 'events:sink-changed');
    await expect.poll(switches).toMatchObject([{ payload: { enabled: true, by: 'operator' } }]);
    await agora.stop();
    await told('second');
    agora = await bed.start();
    await told('third');
    await expect.poll(() => roles()).toEqual(['first', 'second', 'third']);
    const stats = await bed.call('event_sink_stats');
    expect(stats).toMatchObject({ enabled: true, written: lines().length, dropped: 0 });
    const [file] = readdirSync(directory());
    expect(stats['bytes']).toBe(readFileSync(join(directory(), file ?? '')).length);
  });

  test('leaves out and counts what a full disk does not take, and holds up no event', async () => {
    const { written, file } = await bed.call('event_sink_stats');
    rmSync(directory(), { recursive: true });
    mkdirSync(directory());
    symlinkSync(FULL_DISK, String(file));
    await told('dropped');
    await expect.poll(() => bed.call('event_sink_stats')).toMatchObject({ written, dropped: 1 });
    const newest = await bed.call('event_tail', { max: 1 });
    expect(newest).toMatchObject({ events: [{ payload: { role: 'dropped' } }] });
    rmSync(String(file));
    await told('room');
    await expect.poll(() => roles()).toEqual(['room']);
  });

  test('ends when it is switched off', async () => {
    expect(await bed.call('event_sink_enable', { value: false })).toEqual({
      enabled: false,
      file: null,
      since: null,
      changed: true,
    });
    await told('after');
    const newest = async () => JSON.stringify(await bed.call('event_tail', { max: 2 }));
    await expect.poll(newest).toContain('"role":"after"');
    expect(roles()).toEqual(['room']);
  });
});

describe('its files', () => {
  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), 'sink-'));
    onTestFinished(() => rmSync(path, { recursive: true }));
    return path;
  }

  test('are one a day, and ten in all', async () => {
    const path = folder();
    const files = createSinkFiles(path);
    const day = (number: number) => Date.UTC(2026, 0, number);
    for (let number = 1; number <= 12; number += 1) await files.append(day(number), [`{"day":${number}}`]);
    writeFileSync(join(path, 'somebody-else.txt'), '');
    await files.append(day(13), ['{"day":13}']);
    const kept = Array.from({ length: 10 }, (_, index) => `events-2026-01-${String(index + 4).padStart(2, '0')}.jsonl`);
    expect(readdirSync(path).sort()).toEqual([...kept, 'somebody-else.txt']);
  });

  test('end at their bound with a whole line', async () => {
    const path = folder();
    const files = createSinkFiles(path, 25);
    const lines = ['"0123456"', '"0123456"', '"0123456"'];
    expect(await files.append(0, lines)).toMatchObject({ lines: 2, bytes: 20 });
    expect(await files.append(0, lines)).toMatchObject({ lines: 0, bytes: 0 });
    expect(readFileSync(files.fileOf(0), 'utf8')).toBe('"0123456"\n"0123456"\n');
  });
});
