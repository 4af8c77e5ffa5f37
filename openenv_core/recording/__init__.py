"""Episodes written down while they are played, and read again: the format, the recorder, the reader, the exports.

Pure of servers and clients: what is recorded is handed in as bytes.
"""

from openenv_core.recording.lines import EpisodeLine
from openenv_core.recording.reader import Frame, Recording, Summary, find_recordings, read_recording, read_summary
from openenv_core.recording.recorder import Recorder
from openenv_core.recording.tape import Note, Tape

__all__ = [
    "EpisodeLine",
    "Frame",
    "Note",
    "Recorder",
    "Recording",
    "Summary",
    "Tape",
    "find_recordings",
    "read_recording",
    "read_summary",
]
