/** A running gateway with the probe service behind it, and requests to it. */
import { FakeRegistry } from '@svc/testing/registry.fake.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { RunningService } from '@svc/runtime/service.ts';
import { sawCode } from '@svc/testing/seen.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../src/service.ts';
import { createTestPlatform, KEY, type TestPlatformOptions } from './platform.ts';
import { type ProbeDeps, startProbe } from './probe.ts';

export interface Harness {
  readonly platform: StatelessPlatform;
  readonly gateway: Gateway;
  readonly probe: RunningService<ProbeDeps>;
  readonly registry: FakeRegistry;
  readonly url: string;
  fetch(path: string, options?: RequestInit): Promise<Response>;
  /** POST /call with the key. */
  call(body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** A call of one tool; the parsed reply. */
  tool(name: string, args?: unknown, headers?: Record<string, string>): Promise<CallReply>;
  /** What a call that succeeds has in `result.content`. */
  content<Content = Record<string, unknown>>(
    name: string,
    args?: unknown,
    headers?: Record<string, string>,
  ): Promise<Content>;
  stop(): Promise<void>;
}

interface CallReply {
  readonly status: number;
  readonly headers: Headers;
  readonly id: unknown;
  readonly result?: { readonly content: Record<string, unknown> };
  readonly error?: { readonly code: string; readonly message: string; readonly data: Record<string, unknown> };
}

export const KEYED = { SVC_API_KEY: KEY, SVC_BIND: '127.0.0.1', SVC_RATE_LIMIT: 'off' };

export async function startHarness(options: TestPlatformOptions & GatewayOptions = {}): Promise<Harness> {
  const platform = createTestPlatform({ environment: KEYED, ...options });
  const registry = new FakeRegistry();
  await registry.serveOn(platform);
  const probe = await startProbe(platform);
  const gateway = await startGateway(platform, { expectedServices: ['probe', 'gateway'], ...options });
  await until(() => gateway.ready().then(({ ready }) => ready));
  const url = `http://127.0.0.1:${gateway.port}`;
  const authorization: Record<string, string> =
    platform.config.SVC_API_KEY === undefined ? {} : { authorization: `Bearer ${platform.config.SVC_API_KEY}` };

  async function call(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${url}/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  async function tool(name: string, args: unknown = {}, headers: Record<string, string> = {}): Promise<CallReply> {
    const body = { jsonrpc: '2.0', method: 'tools/call', params: { name, arguments: args }, id: 1 };
    const response = await call(body, headers);
    const reply = (await response.json()) as Omit<CallReply, 'status' | 'headers'>;
    const code = reply.error?.code ?? reply.result?.content['code'];
    if (typeof code === 'string') sawCode(name, code);
    return { ...reply, status: response.status, headers: response.headers };
  }

  return {
    platform,
    gateway,
    probe,
    registry,
    url,
    fetch: (path, init) => fetch(url + path, init),
    call,
    tool,
    async content<Content>(name: string, args?: unknown, headers?: Record<string, string>) {
      const { result, error } = await tool(name, args, headers);
      if (result === undefined) throw new Error(`${name} failed: ${error?.code} ${error?.message}`);
      return result.content as Content;
    },
    async stop() {
      await gateway.close();
      await probe.stop();
      await platform.bus.close();
    },
  };
}

/** Waits for a condition, a minute unless told: a busy machine takes its time. */
export async function until(condition: () => boolean | Promise<boolean>, withinMs = 60_000): Promise<void> {
  const giveUpAt = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > giveUpAt) throw new Error(`it did not happen within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
