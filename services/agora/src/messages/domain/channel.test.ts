/** Who may read and write where. */
import { describe, expect, test } from 'vitest';
import type { Viewer } from '../../acting.ts';
import { channelOf, hearersOf, mayRead, mayWrite } from './channel.ts';

const ann: Viewer = { everything: false, agentId: 'ann', workspaces: ['acme'] };
const bob: Viewer = { everything: false, agentId: 'bob', workspaces: [] };
const nobody: Viewer = { everything: false, agentId: null, workspaces: [] };
const operator: Viewer = { everything: true, agentId: null, workspaces: [] };

describe('a channel', () => {
  test.each<readonly [string, string, string | null, readonly string[], readonly string[]]>([
    ['lunch', 'open', null, ['ann', 'bob', 'nobody', 'operator'], ['ann', 'bob']],
    ['agent:ann', 'agent', 'ann', ['ann', 'operator'], ['ann', 'bob']],
    ['agent:a:b', 'agent', 'a:b', ['operator'], ['ann', 'bob']],
    ['agents:acme', 'agents', 'acme', ['ann', 'operator'], []],
    ['ws:acme:ops', 'ws', 'acme', ['ann', 'operator'], ['ann']],
    ['ws:acme:ops:night', 'ws', 'acme', ['ann', 'operator'], ['ann']],
    ['ws:acme', 'closed', null, [], []],
    ['ws:acme:', 'closed', null, [], []],
    ['ws::ops', 'closed', null, [], []],
    ['ws:9:ops', 'closed', null, [], []],
    ['agents:', 'closed', null, [], []],
    ['agents:acme:x', 'closed', null, [], []],
    ['agent:', 'closed', null, [], []],
    ['agentx:acme', 'open', null, ['ann', 'bob', 'nobody', 'operator'], ['ann', 'bob']],
  ])('%s is %s', (name, kind, owner, readers, writers) => {
    const channel = channelOf(name);
    expect(channel).toEqual({ channel: name, kind, owner });
    const viewers = Object.entries({ ann, bob, nobody, operator });
    expect(viewers.filter(([, viewer]) => mayRead(channel, viewer)).map(([who]) => who)).toEqual(readers);
    const actors = viewers.slice(0, 2);
    expect(actors.filter(([, viewer]) => mayWrite(channel, viewer)).map(([who]) => who)).toEqual(writers);
  });

  test('is told of to those who may read it', () => {
    expect(hearersOf(channelOf('lunch'))).toEqual({ parties: ['*'] });
    expect(hearersOf(channelOf('agent:ann'))).toEqual({ parties: ['ann'] });
    expect(hearersOf(channelOf('ws:acme:ops'))).toEqual({ parties: ['ws:acme'], workspace: 'acme' });
    expect(hearersOf(channelOf('agents:acme'))).toEqual({ parties: ['ws:acme'], workspace: 'acme' });
    expect(hearersOf(channelOf('ws:acme'))).toEqual({ parties: [] });
  });
});
