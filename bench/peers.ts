/** Frameworks of the same kind, installed into a folder that is thrown away, for the same echo over NATS. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type NodeProcess, startNode } from './process.ts';
import { temporaryDataDir } from './system.ts';

export interface Peer {
  readonly name: string;
  readonly url: string;
  /** Door and responder. */
  readonly processes: readonly NodeProcess[];
}

const PEERS = [
  { name: 'Moleculer', entry: 'bench/doors/moleculer.ts' },
  { name: 'Nest', entry: 'bench/doors/nest.ts' },
];
const PACKAGES = [
  'moleculer@0.15',
  'nats@2',
  '@nats-io/transport-node@3',
  '@nestjs/common@12',
  '@nestjs/core@12',
  '@nestjs/microservices@12',
  '@nestjs/platform-express@12',
  'reflect-metadata@0.2',
  'rxjs@7',
];

/** Empty, after one loud line, when they cannot be installed. */
export async function startPeers(natsUrl: string): Promise<Peer[]> {
  const folder = temporaryDataDir();
  const args = ['install', '--prefix', folder.path, '--no-audit', '--no-fund', '--ignore-scripts', ...PACKAGES];
  const npm = spawn('npm', args, { cwd: folder.path, stdio: 'ignore' });
  const [code] = await once(npm, 'close').catch(() => [null]);
  if (code !== 0) {
    console.error('SKIPPED: Moleculer and Nest, because npm could not install them');
    return [];
  }
  return Promise.all(
    PEERS.map(async ({ name, entry }) => {
      const environment = { NATS_URL: natsUrl };
      const responder = startNode(entry, ['responder', folder.path], environment);
      await responder.said(/answering/);
      const door = startNode(entry, ['door', folder.path], environment);
      const url = await door.said(/listening on (\S+)/);
      return { name, url, processes: [door, responder] };
    }),
  );
}
