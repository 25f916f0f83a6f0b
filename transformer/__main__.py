import logging, sys, argparse
from pathlib import Path
from .config import load_experiment
from .data import read_pairs
from .device import choose_device
from .tokenizer import Tokenizer
from .training import Trainer
p=argparse.ArgumentParser()
p.add_argument("command"); p.add_argument("config"); p.add_argument("--data"); p.add_argument("--valid"); p.add_argument("--out",type=Path); p.add_argument("--resume",action="store_true")
a=p.parse_args()
logging.basicConfig(level=logging.INFO,format="%(asctime)s %(message)s",stream=sys.stderr)
e=load_experiment(a.config); pairs=read_pairs(a.data)
path=a.out/"tokenizer.model"
if a.resume and path.exists():
    tok=Tokenizer.load(path)
else:
    tok=Tokenizer.train((s for pair in pairs for s in pair), e.tokenizer)
    a.out.mkdir(parents=True,exist_ok=True); path.write_bytes(tok.model)
t=Trainer(e,tok,pairs,read_pairs(a.valid),a.out,choose_device())
if a.resume: t.resume()
t.run()
