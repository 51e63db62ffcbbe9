//! Closed networks of queues: mean value analysis.

use crate::Error;

/// A closed network in its steady state, in the units of its demands.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Passes through the whole network in a unit of time.
    pub throughput: f64,
    /// The mean time of a pass, without the thinking.
    pub response: f64,
    /// For each station, the mean number of customers that wait there or are served.
    pub queues: Vec<f64>,
}

impl Network {
    /// The share of time that a station with this demand is busy (the utilisation law).
    pub fn utilisation(&self, demand: f64) -> f64 {
        self.throughput * demand
    }
}

/// Exact mean value analysis of `customers` that pass by stations of a single server each, and think for `think` on the mean between
/// two passes (Reiser and Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", JACM 27, 1980, equations 3.1 to
/// 3.3). `demands`: for each station, the mean time that it serves a customer in one pass, over all visits.
///
/// With n customers, D(k) the demands and Q(k) the queues that n - 1 customers make:
///
/// ```text
/// R(k) = D(k) (1 + Q(k)),   X = n / (think + Σ R(k)),   Q(k) = X R(k)
/// ```
///
/// It is exact where the network has a product form: stations that serve in order of arrival have exponential times. Times that vary
/// less wait less: the throughput of such a network is higher.
///
/// # Errors
/// A demand or the time to think is negative or not finite, all are 0, or there is no customer.
///
/// ```
/// // One customer never waits.
/// let network = jitterlab_stats::mva::analyse(&[2.0, 3.0], 5.0, 1)?;
/// assert_eq!((network.throughput, network.response), (0.1, 5.0));
/// # Ok::<(), jitterlab_stats::Error>(())
/// ```
pub fn analyse(demands: &[f64], think: f64, customers: u32) -> Result<Network, Error> {
    for &value in demands.iter().chain([&think]) {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(Error::Parameter {
                name: "a demand or the time to think",
                value,
                expected: "0 or more",
            });
        }
    }
    let cycle = think + demands.iter().sum::<f64>();
    if cycle == 0.0 {
        return Err(Error::Parameter {
            name: "the time of a pass and the thinking",
            value: cycle,
            expected: "more than 0",
        });
    }
    if customers == 0 {
        return Err(Error::Parameter {
            name: "the number of customers",
            value: 0.0,
            expected: "1 or more",
        });
    }
    let mut network = Network {
        throughput: 0.0,
        response: 0.0,
        queues: vec![0.0; demands.len()],
    };
    for n in 1..=customers {
        let times = demands.iter().zip(&network.queues);
        let times: Vec<f64> = times
            .map(|(demand, queue)| demand * (1.0 + queue))
            .collect();
        network.response = times.iter().sum();
        network.throughput = f64::from(n) / (think + network.response);
        network.queues = times.iter().map(|time| network.throughput * time).collect();
    }
    Ok(network)
}
