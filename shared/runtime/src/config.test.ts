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

  it('knows which variables are secret', () => {
    expect(secretVariables()).toEqual(expect.arrayContaining(['SVC_API_KEY', 'HOST_TOKEN', 'DATABASE_URL']));
  });
});
