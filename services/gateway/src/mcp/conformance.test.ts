/** The room for the conformance runner is there only where it was asked for, and beside the service's own. */
import { afterEach, expect, test } from 'vitest';
import { type Harness, KEYED, startHarness } from '../../testing/harness.ts';
import { META } from '@svc/testing/mcp-wire.ts';
import { createTestPlatform, KEY } from '../../testing/platform.ts';
import { MODERN } from '../domain/mcp-wire.ts';
import { startGateway } from '../service.ts';

const running: Harness[] = [];

afterEach(async () => {
  for (const harness of running.splice(0)) await harness.stop();
});

async function harnessWith(environment: Record<string, string>): Promise<Harness> {
  const harness = await startHarness({ environment: { ...KEYED, ...environment } });
  running.push(harness);
  return harness;
}

async function toolsAt(harness: Harness, path: string): Promise<{ status: number; names: readonly string[] }> {
  const response = await harness.fetch(path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${KEY}`,
      'mcp-protocol-version': MODERN,
      'mcp-method': 'tools/list',
      'x-svc-profile': 'full',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } }),
  });
  const { result } = (await response.json()) as { result?: { tools: { name: string }[] } };
  return { status: response.status, names: (result?.tools ?? []).map(({ name }) => name) };
}

test('fixtures are offered at their own address and nowhere else', async () => {
  const harness = await harnessWith({ SVC_CONFORMANCE: 'on' });
  const [own, service] = [await toolsAt(harness, '/mcp/conformance'), await toolsAt(harness, '/mcp')];
  expect(own.names).toContain('test_simple_text');
  expect(own.names).not.toContain('probe_echo');
  expect(service.names).toContain('probe_echo');
  expect(service.names.filter((name) => name.startsWith('test_'))).toEqual([]);
  expect(await (await harness.fetch('/tools')).text()).not.toContain('test_simple_text');
});

test('a node that was not told to has no such address', async () => {
  expect(await toolsAt(await harnessWith({}), '/mcp/conformance')).toEqual({ status: 404, names: [] });
});

test('a node that other machines reach does not start with fixtures', async () => {
  const environment = { SVC_API_KEY: KEY, SVC_BIND: '0.0.0.0', SVC_CONFORMANCE: 'on' };
  await expect(startGateway(createTestPlatform({ environment }))).rejects.toThrow(
    /SVC_CONFORMANCE.*SVC_BIND=127\.0\.0\.1/,
  );
});
