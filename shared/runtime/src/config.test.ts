import { describe, expect, it } from 'vitest';
import { ConfigProblem, readConfig, secretVariables } from './config.ts';

const noFile = (): string => {
  throw new Error('no file');
};

describe('the environment', () => {
  it('has a default for everything a laptop needs', () => {
    const { config, warnings } = readConfig({}, noFile);
    expect(config).toMatchObject({
      SVC_MCP_PORT: 3457,
      SVC_DATA_DIR: './data',
      SVC_BRAIN: 'svc',
      SVC_PLAN: 'enterprise',
    });
    expect(warnings).toEqual([]);
  });

  it('names every variable that is wrong at once, and no secret value', () => {
    const wrong = { SVC_MCP_PORT: 'high', SVC_BRAIN: '../x', SVC_API_KEY: 'short-canary', SVC_RATE_LIMIT: 'maybe' };
    expect(() => readConfig(wrong, noFile)).toThrow(ConfigProblem);
    try {
      readConfig(wrong, noFile);
    } catch (error) {
      const text = String(error);
      for (const name of Object.keys(wrong)) expect(text).toContain(name);
      expect(text).not.toContain('canary');
    }
  });

  it('warns of names it does not know, most likely misspelt', () => {
    const { warnings } = readConfig({ SVC_MCP_PROT: '1', PATH: '/bin', SVC_API_KEY_FILE: '' }, noFile);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('SVC_MCP_PROT');
    expect(warnings[0]).toContain('nearest: SVC_MCP_PORT');
    const ofTheCommandLine = { SVC_URL: 'http://127.0.0.1:1', SVC_KEY: 'k', SVC_TOKEN: 't', SVC_SESSION: 's' };
    expect(readConfig(ofTheCommandLine, noFile).warnings).toEqual([]);
  });

  it('takes the value of a variable from a file, as containers hand over secrets', () => {
    const files = (path: string) => (path === '/run/key' ? 'a-key-of-sixteen-or-more\n' : noFile());
    expect(readConfig({ SVC_API_KEY_FILE: '/run/key' }, files).config.SVC_API_KEY).toBe('a-key-of-sixteen-or-more');
    expect(() => readConfig({ SVC_API_KEY_FILE: '/missing' }, files)).toThrow('SVC_API_KEY_FILE');
  });

  it('takes an empty file for a secret that was lost, unless it is that of a key which may count besides', () => {
    const empty = () => ' \n';
    expect(() => readConfig({ SVC_API_KEY_FILE: '/run/key' }, empty)).toThrow('SVC_API_KEY_FILE: /run/key is empty');
    const besides = { SVC_API_KEY_PREVIOUS_FILE: '/run/previous', SVC_AUDIT_KEY_ALSO_FILE: '/run/also' };
    expect(readConfig(besides, empty).config.SVC_API_KEY_PREVIOUS).toBeUndefined();
  });

  it('has no key before where there is no key, which would open the node to everybody on its machine', () => {
    const forgotten = { SVC_API_KEY: '', SVC_API_KEY_PREVIOUS: 'a-key-of-sixteen-or-more' };
    expect(() => readConfig(forgotten, noFile)).toThrow('SVC_API_KEY_PREVIOUS');
  });

  it('reads lists, switches and plan limits', () => {
    const { config } = readConfig(
      { SVC_ALLOWED_HOSTS: 'a, b,', SVC_RATE_LIMIT: 'off', SVC_PLAN_LIMITS: 'free=5,pro=50' },
      noFile,
    );
    expect(config).toMatchObject({
      SVC_ALLOWED_HOSTS: ['a', 'b'],
      SVC_RATE_LIMIT: false,
      SVC_PLAN_LIMITS: { free: 5, pro: 50 },
    });
    for (const bad of ['free', 'gold=1', 'free=0', 'free=1.5'])
      expect(() => readConfig({ SVC_PLAN_LIMITS: bad }, noFile)).toThrow();
  });

  it.each<readonly [string, string, string]>([
    ['SVC_NODE_NAME', 'al.pha', '1-64 letters'],
    ['SVC_NODE_NAME', 'local', 'must not be local'],
    ['SVC_NODE_PORT', '0', 'SVC_NODE_PORT'],
    ['SVC_NODE_SECRET', 'canary', 'SVC_NODE_SECRET'],
    ['SVC_NODE_SECRET_PREVIOUS', 'canary', 'SVC_NODE_SECRET_PREVIOUS'],
    ['SVC_NODE_AGENT_ID', 'operator', 'is reserved'],
    ['SVC_NODE_KEY', 'canary', '32 bytes in base64url'],
    ['SVC_NODE_KEY', `${'A'.repeat(42)}B`, '32 bytes in base64url'],
    ['SVC_NODE_PEERS', '[', 'must be a JSON list'],
    ['SVC_NODE_PEERS', '[{"name":"a","secret":"canary"}]', '0.secret'],
    ['SVC_NODE_PEERS', '[{"name":"a","publicKey":"canary"}]', '0.publicKey'],
    ['SVC_NODE_PEERS', '[{"name":"a"},{"name":"a"}]', 'each name once'],
    ['SVC_NODE_PEERS', '[{"name":"a","agentId":"x"},{"name":"b","agentId":"x"}]', 'must be a JSON list'],
    ['SVC_NODE_BUS_URL', 'http://canary', 'SVC_NODE_BUS_URL'],
    ['SVC_AUDIT_KEY', `base64:canary${'*'.repeat(60)}`, 'SVC_AUDIT_KEY: must hold 32 bytes'],
    ['SVC_AUDIT_KEY_ALSO', `base64:${'canary==='.repeat(4)}`, 'SVC_AUDIT_KEY_ALSO: must hold 32 bytes'],
    ['SVC_REMOTE_TOKEN_FARM', 'canary\nand more', 'SVC_REMOTE_TOKEN_FARM: must be visible ASCII'],
    ['SVC_REMOTE_TOKEN_FARM', 'canary…', 'SVC_REMOTE_TOKEN_FARM: must be visible ASCII'],
    ['SVC_EMBED_KEY', 'canary\nand more', 'SVC_EMBED_KEY: must be visible ASCII'],
    ['HOST_TOKEN', 'canary\nand more', 'HOST_TOKEN: must be visible ASCII'],
    ['SVC_CHAT_KEY', ' ', 'SVC_CHAT_KEY: must be visible ASCII'],
  ])('%s=%s is refused in one line without the value of a secret', (name, value, said) => {
    const read = () => readConfig({ [name]: value }, noFile);
    expect(read).toThrow(said);
    expect(read).not.toThrow('canary');
    expect(read).not.toThrow('\n');
  });

  it('takes what goes into a header without the end of the line that it was pasted with', () => {
    const { config } = readConfig({ SVC_REMOTE_TOKEN_FARM: 'a-key\n', SVC_EMBED_KEY: ' another\r\n' }, noFile);
    expect(config.remoteTokens.get('SVC_REMOTE_TOKEN_FARM')).toBe('a-key');
    expect(config.SVC_EMBED_KEY).toBe('another');
  });

  it('knows which variables are secret', () => {
    expect(secretVariables()).toEqual(expect.arrayContaining(['SVC_API_KEY', 'HOST_TOKEN', 'DATABASE_URL']));
  });
});
