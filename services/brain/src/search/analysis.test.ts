import { describe, expect, test } from 'vitest';
import { analyse, analyseQuery } from './analysis.ts';

describe('terms', () => {
  test.each([
    ['The deployments were failing', ['the', 'deploy', 'were', 'fail']],
    ['HTTPServer', ['httpserver', 'http', 'server']],
    ['fooBar foo_bar foobar', ['foobar', 'foo', 'bar', 'foobar', 'foo', 'bar', 'foobar']],
    ['parseURLv2Beta', ['parseurlv2beta', 'pars', 'ur', 'lv2', 'beta']],
    ['Müller Crème İstanbul', ['muller', 'mueller', 'creme', 'istanbul']],
    ['Zu\u0308rich a\u030a', ['zurich', 'zuerich', 'a', 'aa']],
    ['HTTPServer für', ['httpserver', 'http', 'server', 'fur', 'fuer']],
    ['Bär-Tür', ['bar', 'baer', 'tur', 'tuer']],
    ['FOOÄBar', ['fooabar', 'fooa', 'bar', 'fooaebar', 'foo', 'ae']],
    ['ÜberFluss', ['uberfluss', 'ueberfluss', 'uber', 'ueber', 'fluss']],
    ['Straße Ærø cœur Łódź', ['strass', 'aero', 'aero', 'coeur', 'lodz']],
    ['السفينة سفينة والسفينة', ['سفين', 'سفين', 'سفين']],
    ['أحمد احمد إلى الى', ['احمد', 'احمد', 'الي', 'الي']],
    ['الكتاب كتـاب لل الله', ['كتاب', 'كتاب', 'لل', 'الل']],
    ['ﬁne ＦＵＬＬ ½', ['fine', 'full', '1', '2']],
    ['ΟΔΟΣ οδός', ['οδοσ', 'οδοσ']],
    ['東京都 に', ['東京', '京都', 'に']],
    ['会議🎉🎉🎂 x🔥', ['会議', '🎉', '🎉', '🎂', 'x', '🔥']],
    ['ガラス カラス', ['ガラ', 'ラス', 'カラ', 'ラス']],
    ['utf8 3md a', ['utf8', '3md', 'a']],
    ['__init__ ___', ['init']],
    ['𝕏𝕐 𐐨𐐩', ['xy', '𐐨𐐩']],
  ])('%s', (text, terms) => {
    expect(analyse(text)).toEqual(terms);
  });

  test('a run without words has none', () => {
    expect(analyse('\u0301\u0315 … -- \ud800 \udc00')).toEqual([]);
  });

  test('a giant run is one term of 64 units', () => {
    expect(analyse('xY'.repeat(50_000))).toEqual(['xy'.repeat(32)]);
  });
});

describe('query words', () => {
  test('stop words are dropped', () => {
    expect(analyseQuery('how do I renew the lease?').map(({ term }) => term)).toEqual(['renew', 'leas']);
  });

  test('stop words stay when nothing else is left', () => {
    expect(analyseQuery('what is it').map(({ word }) => word)).toEqual(['what', 'is', 'it']);
  });

  test('repeated words stay repeated', () => {
    expect(analyseQuery('lease lease').map(({ term }) => term)).toEqual(['leas', 'leas']);
  });
});
