/** The door to `acp/`: what commands need to serve an editor, and to read what it has left. */
export { DelayObserver } from './observers/delay-observer';
export { MentionObserver } from './observers/mention-observer';
export { ReviewObserver } from './observers/review-observer';
export { type HelloOptions, readHello, resultFor } from './profiles/initialize';
export { type KnownAnswer, Profiles } from './profiles/profiles';
export { Proxy } from './proxy';
export type { ProxyOptions } from './proxy-options';
export { harmless } from './recording/harmless';
export { InspectedRecording } from './recording/inspected-recording';
export { Playback, type PlaybackOptions } from './recording/playback';
export { Recorder } from './recording/recorder';
export { type RecordedLine, maxRecordingBytes, readRecording } from './recording/recording';
export type { Core } from './relay/core';
export { SessionFile } from './sessions/session-file';
export { type SessionRecord, lastUseOf } from './sessions/session-record';
export { dueMs } from './shutdown';
export { SignIn } from './sign-in/sign-in';
export { readUsage } from './usage/usage';
export { UsageObserver } from './usage/usage-observer';
export {
  type Grouping,
  type UsageAverage,
  type UsageSum,
  averageOf,
  sumOf,
  sumsBy,
} from './usage/usage-sums';
