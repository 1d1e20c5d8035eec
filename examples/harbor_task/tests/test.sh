#!/bin/sh -u
if [ "$(cat sum.txt)" = 55 ]; then reward=1; else reward=0; fi
echo "$reward" > /logs/verifier/reward.txt
