/** How long callers are without a brain that was killed: from kill -9 to the first write that is acknowledged again. */
import { callTool } from './call.ts';
import { markdownTable, quantile, shown } from './figures.ts';
import { AUTHORISED, startEmbedded, type System, temporaryDataDir } from './system.ts';

const FILES = 2_000;
const WRITERS = 32;
const GIVE_UP_MS = 60_000;
const AIM = 'p95 <= 2,000 ms on a quiet machine';

/** Resolves with a Markdown table. The process is started again at once, as a supervisor does. */
export async function measureRecovery(rounds: number): Promise<string> {
  const dataDir = temporaryDataDir();
  let system = await startEmbedded(dataDir.path);
  await fill(system);
  const acknowledged: number[] = [];
  const ready: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const killedAt = performance.now();
    for (const { kill } of system.processes) kill('SIGKILL');
    await Promise.all(system.processes.map(({ ended }) => ended));
    system = await startEmbedded(dataDir.path);
    ready.push(performance.now() - killedAt);
    await firstWrite(system, round);
    acknowledged.push(performance.now() - killedAt);
  }
  await system.stop();
  dataDir.remove();
  const row = (title: string, values: readonly number[]): string[] => [
    title,
    shown(quantile(values, 0.5)),
    shown(quantile(values, 0.95)),
  ];
  return markdownTable(
    [`after kill -9, ${FILES} files, ${rounds} kills (${AIM})`, 'p50 ms', 'p95 ms'],
    [row('/ready', ready), row('first acknowledged write', acknowledged)],
  );
}

async function fill({ urls: [url = ''] }: System): Promise<void> {
  let next = 0;
  const writer = async (): Promise<void> => {
    for (let index = next++; index < FILES; index = next++) {
      const content = `# Note ${index}\n\n${`word${index} `.repeat(200)}`;
      await callTool(url, AUTHORISED, 'brain_write', { name: `notes/${index % 20}/note-${index}`, content });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  await callTool(url, AUTHORISED, 'svc_commit', { message: 'all notes' });
}

async function firstWrite({ urls: [url = ''] }: System, round: number): Promise<void> {
  const giveUpAt = performance.now() + GIVE_UP_MS;
  for (;;) {
    try {
      await callTool(url, AUTHORISED, 'brain_write', { name: `after/${round}`, content: 'written' });
      return;
    } catch (error) {
      if (performance.now() > giveUpAt) throw error; // until then the brain is not open yet
    }
  }
}
