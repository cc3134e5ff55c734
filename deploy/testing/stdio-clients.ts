/** Agents' own clients on stdio, and the processes that come of them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished } from 'vitest';
import { folder } from './started-process.ts';

export type Era = '2026' | '2025';

interface StdioClient {
  readonly pid: number;
  tools(): Promise<string[]>;
  call(name: string, args: Record<string, unknown>): Promise<unknown>;
  read(uri: string): Promise<unknown>;
  close(): Promise<void>;
}

const ENTRY = join(import.meta.dirname, '..', 'embedded.ts');
const INFO = { name: 'test', version: '1' };
const PATIENCE = { timeout: 120_000 };

/** Where nobody keeps anything; nodes of it are killed when the test is over. */
export function ownDirectory(): string {
  const directory = join(folder(), 'data');
  onTestFinished(() => {
    for (const pid of nodesOf(directory)) process.kill(pid, 'SIGKILL');
  });
  return directory;
}

export function environmentOf(directory: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  return { PATH, NODE_COMPILE_CACHE, SVC_MODE: 'mcp', SVC_DATA_DIR: directory, SVC_MCP_PORT: '0', ...more };
}

function commandOf(env: Record<string, string>) {
  return { command: process.execPath, args: ['--disable-warning=ExperimentalWarning', ENTRY], env };
}

export async function connectStdio(era: Era, env: Record<string, string>): Promise<StdioClient> {
  const { client, transport } = era === '2026' ? modern(env) : legacy(env);
  await client.connect();
  onTestFinished(async () => client.close());
  return {
    pid: transport.pid ?? 0,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, args) {
      const answer = await client.callTool(name, args);
      if (answer.isError === true) throw new Error(`${name}: ${JSON.stringify(answer['content'])}`);
      return answer['structuredContent'];
    },
    async read(uri) {
      const [first] = (await client.readResource(uri)).contents;
      return first !== undefined && 'text' in first ? first.text : null;
    },
    close: () => client.close(),
  };
}

function modern(env: Record<string, string>) {
  const transport = new StdioClientTransport({ ...commandOf(env), stderr: 'inherit' });
  const client = new Client(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  return {
    transport,
    client: {
      connect: () => client.connect(transport, PATIENCE),
      close: () => client.close(),
      listTools: () => client.listTools(undefined, PATIENCE),
      callTool: (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args }, PATIENCE),
      readResource: (uri: string) => client.readResource({ uri }, PATIENCE),
    },
  };
}

function legacy(env: Record<string, string>) {
  const transport = new LegacyTransport({ ...commandOf(env), stderr: 'inherit' });
  const client = new LegacyClient(INFO);
  return {
    transport,
    client: {
      connect: () => client.connect(transport, PATIENCE),
      close: () => client.close(),
      listTools: () => client.listTools(undefined, PATIENCE),
      callTool: (name: string, args: Record<string, unknown>) =>
        client.callTool({ name, arguments: args }, undefined, PATIENCE),
      readResource: (uri: string) => client.readResource({ uri }, PATIENCE),
    },
  };
}

interface StdioListener {
  /** URIs of the files that it was told to read again, in their order. */
  readonly heard: string[];
  write(category: string, filename: string, content: string): Promise<unknown>;
}

/** A client of 2025 that wants to hear of that file. */
export async function connectListener(uri: string, env: Record<string, string>): Promise<StdioListener> {
  const transport = new LegacyTransport({ ...commandOf(env), stderr: 'inherit' });
  const client = new LegacyClient(INFO);
  const heard: string[] = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void heard.push(params.uri));
  await client.connect(transport, PATIENCE);
  onTestFinished(async () => client.close());
  await client.subscribeResource({ uri }, PATIENCE);
  return {
    heard,
    write: (category, filename, content) =>
      client.callTool({ name: 'svc_set_memory', arguments: { category, filename, content } }, undefined, PATIENCE),
  };
}

/** Processes that are, or would be, a node of the directory; by their environment, as Linux shows it. */
export function nodesOf(directory: string): number[] {
  const found = readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const environment = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
      const isNode = environment.includes(`SVC_DATA_DIR=${directory}`) && environment.includes('SVC_MODE=headless');
      return isNode ? [{ pid: Number(name), parent: parentOf(name) }] : [];
    } catch {
      return []; // it ended meanwhile, or is somebody else's
    }
  });
  // What a node starts has the node's environment until it runs a program of its own.
  return found.filter(({ parent }) => found.every(({ pid }) => pid !== parent)).map(({ pid }) => pid);
}

function parentOf(pid: string): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
