import { describe, expect, it } from 'vitest';
import { parseRemoteUrl } from './remote-url.ts';

describe('parseRemoteUrl', () => {
  it.each([
    ['https://host.example/o/r.git', 'https', 'https://host.example'],
    ['https://HOST.example:8443/o/r', 'https', 'https://host.example:8443'],
    ['https://[::1]:8443/o/r', 'https', 'https://[::1]:8443'],
    ['ssh://git@host.example:2222/o/r.git', 'ssh', null],
    ['git@host.example:o/r.git', 'ssh', null],
  ])('takes %s', (text, transport, origin) => {
    expect(parseRemoteUrl(text)).toMatchObject({ transport, origin });
  });

  it.each([
    ['https://user:secret@host/o/r', 'credentials'],
    ['https://token@host/o/r', 'credentials'],
    ['ssh://git:secret@host/o/r', 'credentials'],
    ['https://host/o/r?token=x', 'form'],
    ['https://host/', 'form'],
    ['http://host/o/r', 'transport'],
    ['git://host/o/r', 'transport'],
    ['file:///srv/r', 'transport'],
    ['ext::sh -c touch% canary', 'form'],
    ['ext::sh', 'form'],
    ['ext::sh://x/y', 'transport'],
    ['fd::17', 'form'],
    ['--upload-pack=touch canary', 'form'],
    ['-oProxyCommand=touch:canary', 'form'],
    ['ssh://-oProxyCommand=touch/canary', 'form'],
    ['ssh://-o@host/canary', 'form'],
    ['ssh://host/-x', 'form'],
    ['host:-x', 'form'],
    ['/srv/r', 'form'],
    ['../r', 'form'],
    ['C:\\r', 'form'],
    ['https://host/o/r\nx', 'form'],
    ['', 'form'],
  ])('refuses %s', (text, problem) => {
    expect(parseRemoteUrl(text)).toBe(problem);
  });

  it('takes file URLs only when allowed, and without a host', () => {
    expect(parseRemoteUrl('file:///srv/r', { allowFile: true })).toMatchObject({
      transport: 'file',
      url: 'file:///srv/r',
    });
    expect(parseRemoteUrl('file://host/srv/r', { allowFile: true })).toBe('form');
  });
});
