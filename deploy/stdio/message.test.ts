import { messageOf } from '@svc/gateway/domain/mcp-wire.ts';
import { describe, expect, it } from 'vitest';
import { headersOf, readMessage } from './message.ts';

const PREFIX = 'io.modelcontextprotocol/';
const META = { [`${PREFIX}protocolVersion`]: '2026-07-28', [`${PREFIX}clientCapabilities`]: {} };

function line(method: string, params: Record<string, unknown>): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
}

function headersFor(text: string): Record<string, string> {
  return headersOf(readMessage(text) ?? expect.fail('no message'), 'key');
}

describe('a message of the newer era', () => {
  it.each([
    ['server/discover', {}],
    ['tools/call', { name: 'svc_health', arguments: {} }],
    ['resources/read', { uri: 'brain:///svc/notes/Übersicht 🌊.md' }],
    ['resources/read', { uri: ' begins with a blank' }],
    ['tools/call', { name: '=?base64?eA==?=' }],
    ['tools/call', { name: '' }],
  ])('%s gets the headers that the service compares with its body: %j', (method, params) => {
    const text = line(method, { ...params, _meta: META });
    const { 'mcp-protocol-version': version, 'mcp-method': said, 'mcp-name': name } = headersFor(text);
    expect(messageOf(JSON.parse(text), { version, method: said, name })).toMatchObject({ era: 'modern', method });
    expect(() => new Headers(headersFor(text))).not.toThrow();
  });
});

describe('a message of the earlier era', () => {
  it('mirrors nothing', () => {
    expect(Object.keys(headersFor(line('ping', {})))).toEqual(['content-type', 'accept']);
  });
});

it('a call of a tool has a key, unless it brings its own', () => {
  expect(headersFor(line('tools/call', { name: 'a' }))).toHaveProperty('idempotency-key', 'key');
  const own = { name: 'a', _meta: { idempotencyKey: 'mine' } };
  expect(headersFor(line('tools/call', own))).not.toHaveProperty('idempotency-key');
  expect(headersFor(line('tools/list', {}))).not.toHaveProperty('idempotency-key');
});

it('what is said is told apart by its form', () => {
  expect(readMessage(line('ping', {}))?.kind).toBe('request');
  expect(readMessage('{"jsonrpc":"2.0","method":"notifications/initialized"}')?.kind).toBe('notification');
  expect(readMessage('{"jsonrpc":"2.0","id":1,"result":{}}')?.kind).toBe('other');
  expect(readMessage('[1]')?.kind).toBe('other');
  expect(readMessage('{')).toBeNull();
});
