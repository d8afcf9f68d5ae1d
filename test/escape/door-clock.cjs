/* Loaded into a server by `DoorWorld.open`: its clock is ahead by as many milliseconds as the file of that name says. */
const { readFileSync } = require('node:fs');
const { performance } = require('node:perf_hooks');
const process = require('node:process');

const now = performance.now.bind(performance);
performance.now = () => now() + Number(readFileSync(process.env.CAI_TEST_CLOCK, 'utf8'));
